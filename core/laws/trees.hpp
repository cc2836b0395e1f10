#pragma once
namespace stiction { class Trees { public: void evaluate(const float*, double*) const {} }; }
