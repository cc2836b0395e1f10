// Laws that were learned: the data-augmented law of the paper, and its purely data-driven baseline.
#pragma once

#include "../algorithm1.hpp"
#include "../law.hpp"
#include "approximator.hpp"
#include "describe.hpp"

namespace stiction {

/// The law of the paper. The classifier scores STATIC, DYNAMIC and DETACH; the regressor corrects the guessed friction
/// of a dynamic contact, both in units of the normal impulse.
class AugmentedLaw final : public Law {
  public:
    AugmentedLaw(Recipe recipe, ByKind classifiers, ByKind regressors)
        : recipe_(recipe), classifiers_(std::move(classifiers)), regressors_(std::move(regressors)) {}

    void classify(const Contacts& contacts) override {
        describe(contacts, recipe_);
        answer_all(classifiers_, contacts, Mode::NONE);
        for (Contact& c : contacts) {
            const double* score = c.description.answer;
            if (!c.description.exists() || score[2] > std::max(score[0], score[1]))
                c.mode = Mode::DETACH;  // where nothing approaches, no impulse is needed
            else
                c.mode = score[1] > score[0] ? Mode::DYNAMIC : Mode::STATIC;
        }
    }

    void friction(const Contacts& contacts) override {
        for (Contact& c : contacts) c.description.answer[2] = 0.0;  // a point has no spin torque
        answer_all(regressors_, contacts, Mode::DYNAMIC);
        for (Contact& c : contacts)
            if (c.mode == Mode::DYNAMIC)
                c.friction = c.description.exists() ? tilted(c, friction_from(c.description, c.description.answer))
                                                    : Friction{};
    }

    bool outside(const Contacts& contacts, int i) override {
        const Contact& c = contacts[i];
        return c.description.exists() && classifiers_[static_cast<int>(c.kind) - 1].beyond(c.description.features);
    }

    RoughFriction rough() const override { return recipe_.friction; }

  private:
    Recipe recipe_;
    ByKind classifiers_, regressors_;
};

/// The purely data-driven baseline (PDD of the paper): the whole impulse is regressed, and no physics corrects it.
class StatisticalLaw final : public Law {
  public:
    StatisticalLaw(Recipe recipe, ByKind impulses) : recipe_(recipe), impulses_(std::move(impulses)) {}

    void respond(const Contacts& contacts) override {
        describe(contacts, recipe_);
        answer_all(impulses_, contacts, Mode::NONE);
        for (Contact& c : contacts) {
            c.mode = Mode::NONE;  // to be seen in the motion
            c.impulse = c.description.exists() ? impulse_from(c, c.description.answer) : Wrench{};
        }
    }

    void classify(const Contacts& contacts) override { respond(contacts); }
    void friction(const Contacts&) override {}

  private:
    Recipe recipe_;
    ByKind impulses_;
};

}  // namespace stiction
