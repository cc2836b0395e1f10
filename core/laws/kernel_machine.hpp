#pragma once
namespace stiction { class KernelMachine { public: void evaluate(const float*, double*) const {} }; }
