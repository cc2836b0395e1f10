// Laws that were learned: the data-augmented law of the paper, and its purely data-driven baseline.
#pragma once

#include "contact/algorithm1.hpp"
#include "laws/law.hpp"
#include "laws/approximator.hpp"
#include "laws/describe.hpp"

namespace stiction {

/// The law of the paper. The classifier scores STATIC, DYNAMIC and DETACH; the regressor corrects the guessed friction
/// of a dynamic contact, both in units of the normal impulse.
class AugmentedLaw final : public Law {
  public:
    /// classifies, corrects: for which kinds of patches the networks are asked; else the guess stands, and its mode, which
    /// only a material has
    AugmentedLaw(Recipe recipe, ByKind classifiers, ByKind regressors, ForKinds classifies, ForKinds corrects)
        : recipe_(std::move(recipe)), classifiers_(std::move(classifiers)), regressors_(std::move(regressors)),
          classifies_(classifies), corrects_(corrects) {}

    void classify(const Contacts& contacts) override {
        describe(contacts, recipe_);
        answer_all(classifiers_, contacts, Mode::NONE, classifies_);
        for (Contact& c : contacts) {
            const double* score = c.description.answer;
            if (!c.description.exists())
                c.mode = Mode::DETACH;  // where nothing approaches, no impulse is needed
            else if (!classifies_[number_of(c.kind)])
                continue;
            else if (score[2] > std::max(score[0], score[1]))
                c.mode = Mode::DETACH;
            else
                c.mode = score[1] > score[0] ? Mode::DYNAMIC : Mode::STATIC;
        }
    }

    void friction(const Contacts& contacts) override {
        for (Contact& c : contacts) std::fill(c.description.answer, c.description.answer + 3, 0.0);  // no correction
        answer_all(regressors_, contacts, Mode::DYNAMIC, corrects_);
        for (Contact& c : contacts)
            if (c.mode == Mode::DYNAMIC) c.friction = c.description.exists() ? corrected(c) : Friction{};
    }

    bool outside(const Contacts& contacts, int i) override {
        const Contact& c = contacts[i];
        const int k = number_of(c.kind);
        if (recipe_.material && c.outside) return true;
        return c.description.exists() && classifies_[k] && classifiers_[k].beyond(c.description.features);
    }

    CoulombFriction coulomb_estimate() const override { return recipe_.friction; }
    bool bounces() const override { return recipe_.material && recipe_.material->bounces(); }

  private:
    Recipe recipe_;
    ByKind classifiers_, regressors_;
    ForKinds classifies_, corrects_;

    /// The guess and what the regressor adds to it.
    Friction corrected(const Contact& c) const {
        const Friction f = friction_from(c.description, c.description.answer);
        if (!recipe_.material) return tilted(c, f);
        if (!corrects_[number_of(c.kind)]) return c.found;
        const Friction more = tilted(c, {f.p_x - c.found.p_x, f.p_y - c.found.p_y, f.m_z - c.found.m_z});
        return {f.p_x, f.p_y, f.m_z, c.found.m_x + more.m_x, c.found.m_y + more.m_y};
    }
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
    bool predicts_impulses() const override { return true; }

  private:
    Recipe recipe_;
    ByKind impulses_;
};

}  // namespace stiction
