// Steps of MuJoCo with laws for pairs of geoms, for Python.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "python/arrays.hpp"
#include "mujoco/rollouts.hpp"

namespace stiction {
namespace {

using namespace mujoco;

/// MuJoCo's structs and numbers, as Python tells them: see mujoco/engine.py.
struct EngineDescription {
    Addresses functions;
    std::map<std::string, int> constants;
    Places model, data, contact;
};

Engine engine_of(std::uintptr_t model, std::uintptr_t data, const EngineDescription& d, const Places& counts, int state_size) {
    const auto constant = [&](const char* name) { return named(d.constants, name); };
    Constants c{};
    c.euler = constant("mjINT_EULER"), c.implicit = constant("mjINT_IMPLICIT"), c.implicitfast = constant("mjINT_IMPLICITFAST");
    c.no_actuation = constant("mjDSBL_ACTUATION"), c.no_eulerdamp = constant("mjDSBL_EULERDAMP");
    c.no_damper = constant("mjDSBL_DAMPER"), c.no_sensor = constant("mjDSBL_SENSOR");
    c.no_autoreset = constant("mjDSBL_AUTORESET"), c.energy = constant("mjENBL_ENERGY"), c.sleep = constant("mjENBL_SLEEP");
    c.equality = constant("mjCNSTR_EQUALITY"), c.elliptic = constant("mjCNSTR_CONTACT_ELLIPTIC");
    c.friction_dof = constant("mjCNSTR_FRICTION_DOF"), c.friction_tendon = constant("mjCNSTR_FRICTION_TENDON");
    c.quadratic = constant("mjCNSTRSTATE_QUADRATIC");
    c.integration = constant("mjSTATE_INTEGRATION");
    int* next = c.warnings;
    for (const char* kind : {"BADQPOS", "BADQVEL", "BADQACC", "BADCTRL", "CONTACTFULL", "CNSTRFULL"})
        *next++ = constant((std::string("mjWARN_") + kind).c_str());
    const void* m = reinterpret_cast<const void*>(model);
    void* at = reinterpret_cast<void*>(data);
    return {m, at, Functions(d.functions), c, ContactPlaces(d.contact), Model(m, d.model, counts), Data(at, d.data), state_size};
}

nb::object note_of(const PointStep& self, int k) {
    const PairNote& note = self.notes.at(k);
    return nb::make_tuple(note.touching, note.slipping, copy_of<double>(note.force, {3}), copy_of<double>(note.moment, {3}),
                          note.steps, note.unsolved, note.outside);
}

/// Of the points of the last step that press: laws, places, normals, impulses in the world, whether they slip.
nb::object points_of(const PointStep& self) {
    std::vector<std::int64_t> law, slips;
    std::vector<double> place, normal, impulse, distance;
    for (const TouchingPoint& point : self.points) {
        if (!point.presses()) continue;
        law.push_back(point.law), slips.push_back(point.slips), distance.push_back(point.distance);
        const Vector p = point.world_impulse();
        for (const auto& [list, v] : {std::pair{&place, point.place}, std::pair{&normal, point.z}, std::pair{&impulse, p}})
            list->insert(list->end(), {v.x, v.y, v.z});
    }
    const std::size_t n = law.size();
    return nb::make_tuple(copy_of<std::int64_t>(law, {n}), copy_of<double>(place, {n, 3}), copy_of<double>(normal, {n, 3}),
                          copy_of<double>(impulse, {n, 3}), copy_of<std::int64_t>(slips, {n}), copy_of<double>(distance, {n}));
}

nb::object counts_of(const PointStep& self) {
    std::vector<std::int64_t> all{self.unsolved, self.contact_steps, self.newton_steps, self.rounds};
    for (const PairNote& note : self.notes) all.insert(all.end(), {note.steps, note.unsolved, note.outside});
    all.insert(all.end(), self.uncovered.begin(), self.uncovered.end());
    return nb::cast(copy_of<std::int64_t>(all, {all.size()}));
}

/// A, b, x, bounds (m, 2) and coefficients of the last problem.
nb::object problem_of(const PointStep& self) {
    const PointFriction& p = self.problem();
    const std::size_t n = p.b.size();
    std::vector<double> bounds, coefficients;
    for (const Bounds& one : p.bounded) bounds.push_back(one.low), bounds.push_back(one.high);
    for (const SlidingPoint& point : p.points) coefficients.push_back(point.coefficient);
    return nb::make_tuple(copy_of<double>({n > 0 ? p.A[0] : nullptr, n * n}, {n, n}), copy_of<double>(p.b, {n}),
                          copy_of<double>(p.x, {n}), copy_of<double>(bounds, {p.bounded.size(), 2}),
                          copy_of<double>(coefficients, {coefficients.size()}));
}

nb::object memory_of(const PointStep& self) {
    static_assert(sizeof(Remembered) == 8 * sizeof(double) && sizeof(HandMoved) == 16 * sizeof(double));
    const std::size_t first = 2 * self.moved.size(), n = first + self.memory.size();
    std::vector<double> rows(8 * n);
    std::copy_n(reinterpret_cast<const double*>(self.moved.data()), 8 * first, rows.begin());
    std::copy_n(reinterpret_cast<const double*>(self.memory.data()), 8 * (n - first), rows.begin() + 8 * first);
    return nb::cast(copy_of<double>(rows, {n, 8}));
}

void set_memory(PointStep& self, Input<double, -1, 8> rows) {
    const std::size_t n = rows.shape(0), first = 2 * self.moved.size();
    bool is_ours = n >= first;
    for (std::size_t k = 0; is_ours && k < self.moved.size(); ++k) is_ours = rows.data()[16 * k] == self.moved[k].body;
    if (!is_ours) throw nb::value_error("What is remembered of the last step is that of another model.");
    self.memory.resize(n - first);
    std::copy_n(rows.data(), 8 * first, reinterpret_cast<double*>(self.moved.data()));
    std::copy_n(rows.data() + 8 * first, 8 * (n - first), reinterpret_cast<double*>(self.memory.data()));
}

void check_for_interrupts() {
    const nb::gil_scoped_acquire acquired;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Do something without Python's lock. Where a callback of the user's failed in this thread, its own error is raised.
template <class Work> void without_lock(Work work) {
    try {
        const nb::gil_scoped_release released;
        work();
    } catch (const std::runtime_error&) {
        if (PyErr_Occurred()) nb::raise_python_error();
        throw;
    }
}

/// The outcome of the last of so many steps, and how many came to their end; after OVERFULL they go on.
std::pair<Outcome, int> steps_of(PointStep& self, int count) {
    Outcome all = Outcome::DONE;
    int done = 0;
    without_lock([&] {
        for (; done < count; ++done) {
            if (done % 256 == 255) check_for_interrupts();
            const Outcome one = self.step();
            if (one != Outcome::DONE) all = one;
            if (one != Outcome::DONE && one != Outcome::OVERFULL) return;
        }
    });
    return {all, done};
}

/// One of the parts of a step.
template <class Work> Outcome part_of(Work work) {
    Outcome outcome = Outcome::DONE;
    without_lock([&] { outcome = work(); });
    return outcome;
}

nb::object response_of(PointStep& self, const std::vector<int>& bodies) {
    for (const int body : bodies)
        if (body < 0 || body >= self.engine.model.nbody) throw nb::index_error("There is no body of that number.");
    const LinkResponse found = self.response(bodies);
    const auto copy = [](const Matrix& A) {
        const std::size_t rows = A.rows(), columns = A.columns();
        return copy_of<double>({rows > 0 ? A[0] : nullptr, rows * columns}, {rows, columns});
    };
    return nb::make_tuple(copy_of<double>(found.V, {found.V.size()}), copy(found.R), copy(found.L), found.is_felt);
}

void set_counts(PointStep& self, Input<std::int64_t, -1> counts) {
    if (counts.size() != 4 + 3 * self.notes.size() + self.uncovered.size())
        throw nb::value_error("These counts are of other laws or bodies.");
    const std::int64_t* next = counts.data();
    for (std::int64_t* one : {&self.unsolved, &self.contact_steps, &self.newton_steps, &self.rounds}) *one = *next++;
    for (PairNote& note : self.notes) note.steps = *next++, note.unsolved = *next++, note.outside = *next++;
    std::copy_n(next, self.uncovered.size(), self.uncovered.begin());
}

}  // namespace

void bind_mujoco(nb::module_& m) {
    nb::class_<EngineDescription>(m, "EngineDescription", "Where MuJoCo's functions are, and the fields of its structs.")
        .def("__init__",
             [](EngineDescription* self, Addresses functions, std::map<std::string, int> constants, Places model, Places data,
                Places contact) {
                 new (self) EngineDescription{std::move(functions), std::move(constants), std::move(model),
                                              std::move(data), std::move(contact)};
             },
             nb::kw_only(), nb::arg("functions"), nb::arg("constants"), nb::arg("model"), nb::arg("data"), nb::arg("contact"));

    nb::enum_<Outcome>(m, "Outcome", "What became of a step: see core/mujoco/point_step.hpp.")
        .value("DONE", Outcome::DONE)
        .value("NO_NUMBERS", Outcome::NO_NUMBERS)
        .value("RESET", Outcome::RESET)
        .value("OTHER_INTEGRATOR", Outcome::OTHER_INTEGRATOR)
        .value("NO_TIMESTEP", Outcome::NO_TIMESTEP)
        .value("SLEEP", Outcome::SLEEP)
        .value("BAD_CONTROL", Outcome::BAD_CONTROL)
        .value("OVERFULL", Outcome::OVERFULL);

    nb::class_<PairLaw>(m, "PairLaw", "Friction and restitution between two surfaces.")
        .def("__init__",
             [](PairLaw* self, const FrictionMap& map, double e0, double fall, double threshold, bool body_axes,
                int parts) {
                 new (self) PairLaw{map, {e0, fall, threshold}, body_axes, parts};
             },
             nb::kw_only(), nb::arg("map"), nb::arg("e0"), nb::arg("fall"), nb::arg("threshold"), nb::arg("body_axes"),
             nb::arg("parts"));

    nb::class_<PointStep>(m, "PointStep", "Steps of MuJoCo in which chosen pairs of geoms touch by laws.")
        .def("__init__",
             [](PointStep* self, std::uintptr_t model, std::uintptr_t data, const EngineDescription& description,
                const Places& damping, int state_size, const std::vector<const PairLaw*>& laws,
                std::vector<int> class_of, int classes, int unnamed, std::vector<int> table, std::vector<double> gaps,
                const std::vector<std::tuple<int, int, double>>& pair_gaps, double softness) {
                 std::vector<PairLaw> own;
                 for (const PairLaw* law : laws) own.push_back(*law);
                 PairTable all{std::move(class_of), classes, unnamed, std::move(table), std::move(gaps), {}};
                 for (const auto& [first, second, gap] : pair_gaps) all.pair_gaps[std::minmax(first, second)] = gap;
                 new (self) PointStep(engine_of(model, data, description, damping, state_size), std::move(own),
                                      std::move(all), softness);
             },
             nb::kw_only(), nb::arg("model"), nb::arg("data"), nb::arg("description"), nb::arg("damping"),
             nb::arg("state_size"), nb::arg("laws"), nb::arg("class_of"), nb::arg("classes"),
             nb::arg("unnamed"), nb::arg("table"), nb::arg("gaps"), nb::arg("pair_gaps"), nb::arg("softness"))
        .def("steps", &steps_of, nb::arg("count"),
             "As many steps, or fewer if one does not come to its end: the last outcome, and how many were done.")
        .def("begin", [](PointStep& self, bool is_first) { return part_of([&] { return self.begin(is_first); }); },
             nb::arg("is_first"),
             "Begin a step beside links with laws of their own: MuJoCo finds positions and contacts. Then find_beside, "
             "solve_beside, take_back and again, end_beside. is_first: whether it is no later part of a step in parts")
        .def("find_beside",
             [](PointStep& self) {
                 part_of([&] {
                     self.find_beside();
                     return Outcome::DONE;
                 });
             },
             "MuJoCo finds velocities and constraints, without the contacts that are excluded by now.")
        .def("solve_beside", [](PointStep& self) { return part_of([&] { return self.solve_beside(); }); },
             "Solve for the points with the forces that are applied now, and advance.")
        .def("response", &response_of, nb::arg("bodies"),
             "After `solve_beside`: twists V (6 n,) of bodies, how impulses on them change the velocities of the joints, R "
             "(dofs, 6 n), and their twists, L (6 n, 6 n), world axes; whether points or constraints feel these impulses.")
        .def("take_back", &PointStep::take_back, "Back to the begin of the step.")
        .def("advance_beside", [](PointStep& self) { return part_of([&] { return self.advance_beside(); }); },
             "Once more with the impulses that were found, and the forces that are applied now.")
        .def("end_beside", [](PointStep& self) { return part_of([&] { return self.end_beside(); }); },
             "Note what became of the step, and take our forces off.")
        .def("take_depth_back", &PointStep::take_depth_back, "At last: positions by which the depth of the points gets less.")
        .def("is_finite", &PointStep::is_finite, "Whether the state consists of numbers that MuJoCo takes.")
        .def("forget", &PointStep::forget, "Set all counts to zero, and begin without memory.")
        .def("note", &note_of, nb::arg("law"))
        .def("points", &points_of)
        .def("problem", &problem_of, "What was solved in the last step with contact: A, b, x, bounds and coefficients.")
        .def_prop_rw(
            "memory", &memory_of, &set_memory,
            "What the next step must know of the last (n, 8): of bodies that the user moves, two rows each; then impulses, "
            "by which the next step begins: geoms, places, impulses.")
        .def_prop_ro("uncovered",
                     [](const PointStep& self) {
                         return nb::cast(copy_of<std::int64_t>(self.uncovered, {self.uncovered.size()}));
                     },
                     "Of each body, the steps in which it touched what its laws do not cover.")
        .def_prop_ro("any_uncovered",
                     [](const PointStep& self) {
                         return std::any_of(self.uncovered.begin(), self.uncovered.end(), [](auto n) { return n > 0; });
                     })
        .def("centre",
             [](const PointStep& self, int body) {
                 return copy_of<double>({*self.engine.data.xipos + 3 * body, 3}, {3});
             },
             nb::arg("body"), "Of mass of a body at the begin of the last step [m], (3,).")
        .def_prop_rw("counts", &counts_of, &set_counts, "All counts, (n,).")
        .def("set_touch_sensors",
             [](PointStep& self, const std::vector<std::tuple<int, int, int, int, double>>& sensors) {
                 self.touch_sensors.clear();
                 for (const auto& [number, site, body, shape, cutoff] : sensors)
                     self.touch_sensors.push_back({number, site, body, shape, cutoff});
             },
             nb::arg("sensors"),
             "Places in sensordata, sites, bodies, shapes of sites and cutoffs of sensors that are to feel contacts.")
        .def_rw("forces_wanted", &PointStep::forces_wanted)
        .def_rw("unsolved", &PointStep::unsolved)
        .def_rw("contact_steps", &PointStep::contact_steps)
        .def_ro("newton_steps", &PointStep::newton_steps)
        .def_ro("rounds", &PointStep::rounds)
        .def_prop_ro("work", &PointStep::work, "What contact gave to the motion in the last step [J].");

    m.def("run_motions",
          [](std::vector<PointStep*> workers, Input<double, -1, -1> initial, Input<double, -1, -1> warmstart,
             Input<double, -1, -1, -1> control, Output<double, -1, -1, -1> state, Output<double, -1, -1, -1> sensors,
             int state_kind, int control_kind) {
              Motions all{};
              if (warmstart.is_valid()) all.warmstart = warmstart.data();  // either may be None
              if (control.is_valid()) all.control = control.data(), all.control_size = static_cast<int>(control.shape(2));
              all.count = static_cast<int>(state.shape(0)), all.steps = static_cast<int>(state.shape(1));
              all.state_kind = state_kind, all.state_size = static_cast<int>(state.shape(2));
              all.control_kind = control_kind;
              all.sensor_size = static_cast<int>(sensors.shape(2));
              all.initial = initial.data(), all.state = state.data(), all.sensors = sensors.data();
              without_lock([&] { run_motions(all, std::move(workers), &check_for_interrupts); });
          },
          nb::arg("workers"), nb::arg("initial"), nb::arg("warmstart").none(), nb::arg("control").none(), nb::arg("state"),
          nb::arg("sensors"), nb::kw_only(), nb::arg("state_kind"), nb::arg("control_kind"),
          "Run motions (n, steps) in as many threads as there are workers; state and sensors are written.");
}

}  // namespace stiction
