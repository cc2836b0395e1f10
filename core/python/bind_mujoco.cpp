// Steps of MuJoCo in which contacts follow laws, for Python.
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "mujoco/rollouts.hpp"
#include "python/owned_contacts.hpp"

namespace stiction {
namespace {

using namespace mujoco;

/// MuJoCo's functions, constants and struct layouts, as Python has looked them up: see src/stiction/mujoco/engine.py.
struct EngineLayout {
    Addresses functions, model, data, contact;
    std::map<std::string, int> constants;
};

/// damping: sizes of the model's arrays of damping that is not linear
Engine engine_of(const EngineLayout& layout, std::uintptr_t model, std::uintptr_t data, const Addresses& damping, int state_size) {
    const auto constant = [&](const char* name) { return named(layout.constants, name); };
    Constants c{};
    c.euler = constant("mjINT_EULER"), c.implicit = constant("mjINT_IMPLICIT"), c.implicitfast = constant("mjINT_IMPLICITFAST");
    c.no_actuation = constant("mjDSBL_ACTUATION"), c.no_eulerdamp = constant("mjDSBL_EULERDAMP");
    c.no_damper = constant("mjDSBL_DAMPER"), c.no_sensor = constant("mjDSBL_SENSOR");
    c.no_autoreset = constant("mjDSBL_AUTORESET"), c.energy = constant("mjENBL_ENERGY"), c.sleep = constant("mjENBL_SLEEP");
    c.equality = constant("mjCNSTR_EQUALITY"), c.elliptic = constant("mjCNSTR_CONTACT_ELLIPTIC");
    c.friction_dof = constant("mjCNSTR_FRICTION_DOF"), c.friction_tendon = constant("mjCNSTR_FRICTION_TENDON");
    c.quadratic = constant("mjCNSTRSTATE_QUADRATIC"), c.cone = constant("mjCNSTRSTATE_CONE");
    c.integration = constant("mjSTATE_INTEGRATION");
    int* next = c.warnings;
    for (const char* kind : {"BADQPOS", "BADQVEL", "BADQACC", "BADCTRL", "CONTACTFULL", "CNSTRFULL"})
        *next++ = constant((std::string("mjWARN_") + kind).c_str());
    const void* m = reinterpret_cast<const void*>(model);
    void* at = reinterpret_cast<void*>(data);
    return {m, at, Functions(layout.functions), c, ContactOffsets(layout.contact), Model(m, layout.model, damping),
            Data(at, layout.data), state_size};
}

/// Run something without Python's lock. An error of a user's callback in this thread is raised as it is.
template <class Work> void without_lock(Work work) {
    try {
        const nb::gil_scoped_release released;
        work();
    } catch (const std::runtime_error&) {
        if (PyErr_Occurred()) nb::raise_python_error();
        throw;
    }
}

void check_for_interrupts() {
    const nb::gil_scoped_acquire acquired;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

nb::object copy_of_matrix(const Matrix& A) {
    const std::size_t rows = A.rows(), columns = A.columns();
    return nb::cast(copy_of(std::vector<double>(A[0], A[0] + rows * columns), {rows, columns}));
}

void new_ground(Ground* self, Input<double, -1, 3, 3> axes, Input<double, -1> height, const std::vector<double>& support,
                const std::vector<std::vector<bool>>& endless) {
    const std::size_t n = axes.shape(0);
    if (n == 0 || height.shape(0) != n || support.size() != n)
        throw nb::value_error("axes, height and support must have a row for each plane, and there must be one.");
    Ground ground;
    for (std::size_t p = 0; p < n; ++p) {
        const Rotation R = rotation_from(axes.data() + 9 * p);
        ground.planes.push_back({R, height.data()[p], support[p], R.x.x == 1.0 && R.y.y == 1.0 && R.z.z == 1.0});
    }
    for (const auto& row : endless)
        if (row.size() != n) throw nb::value_error("endless must have a value for each link and plane.");
    ground.endless = endless;
    ground.meets.resize(endless.size());
    new (self) Ground(std::move(ground));
}

void add_box(Ground& ground, Input<double, 3> centre, Input<double, 3, 3> axes, Input<double, 3> half,
             const std::array<int, 6>& faces, const std::vector<bool>& meets) {
    for (const int plane : faces)
        if (plane < 0 || plane >= static_cast<int>(ground.planes.size()))
            throw nb::value_error("A face must be in one of the planes.");
    if (meets.size() != ground.meets.size()) throw nb::value_error("meets must have a value for each link.");
    ground.boxes.push_back({vector_from(centre.data()), rotation_from(axes.data()), vector_from(half.data()), faces});
    for (std::size_t link = 0; link < meets.size(); ++link) ground.meets[link].push_back(meets[link]);
}

/// solver: a function of V_free and L that leaves its solution in `links`, or none for the search by modes
void new_link_setup(LinkSetup* self, std::shared_ptr<PythonLinks> links, const std::vector<int>& bodies,
                    Input<double, -1, 3, 3> frames, const Ground& ground, const std::vector<std::vector<int>>& plane_geoms,
                    const std::vector<std::array<int, 2>>& spins, std::optional<nb::callable> solver) {
    LinkSetup setup{links, {}, ground, plane_geoms, spins, {}};
    const std::size_t n = static_cast<std::size_t>(links->size());
    if (bodies.size() != n || frames.shape(0) != n || setup.ground.endless.size() != n)
        throw nb::value_error("bodies, frames and ground must have a row for each link.");
    if (setup.plane_geoms.size() != setup.ground.planes.size())
        throw nb::value_error("plane_geoms must have a row for each plane.");
    for (std::size_t i = 0; i < n; ++i) {
        setup.placed.emplace_back();
        setup.placed.back().body = bodies[i], setup.placed.back().frame = rotation_from(frames.data() + 9 * i);
    }
    if (solver)
        setup.solver = [call = *solver](const std::vector<double>& V_free, const Matrix& L) {
            const nb::gil_scoped_acquire acquired;
            call(copy_of(V_free), copy_of_matrix(L));
        };
    new (self) LinkSetup(std::move(setup));
}

void new_step(Step* self, const Engine& engine, const std::vector<const PairLaw*>& laws, const PairTable& table,
              const LinkSetup& links, double softness, double tolerance, double max_substep) {
    const auto is_none = [](int value, int count) { return value < 0 || value >= count; };
    for (const PlacedLink& link : links.placed)
        if (is_none(link.body, engine.model.nbody)) throw nb::value_error("A link must be one of the model's bodies.");
    for (const std::vector<int>& geoms : links.plane_geoms)
        for (const int geom : geoms)
            if (is_none(geom, engine.model.ngeom)) throw nb::value_error("A plane must be one of the model's geoms.");
    for (const auto& [address, dof] : links.spins)
        if (is_none(address, engine.model.nq - 3) || is_none(dof, engine.model.nv - 2))
            throw nb::value_error("A spin must be inside of qpos and qvel.");
    if (!laws.empty() && table.class_of.size() != static_cast<std::size_t>(engine.model.ngeom))
        throw nb::value_error("The table of pairs must have a class for each geom.");
    std::vector<PairLaw> copies;
    for (const PairLaw* law : laws) copies.push_back(*law);
    Settings settings;
    settings.softness = softness, settings.tolerance = tolerance, settings.max_substep = max_substep;
    new (self) Step(engine, settings, std::move(copies), table, links);
}

/// The last outcome of `count` steps, and how many were completed; after OVERFLOW they go on.
std::pair<Outcome, int> steps_of(Step& self, int count) {
    Outcome all = Outcome::DONE;
    int done = 0;
    without_lock([&] {
        for (; done < count; ++done) {
            if (done % 256 == 255) check_for_interrupts();
            const Outcome one = self.step();
            if (one != Outcome::DONE) all = one;
            if (one != Outcome::DONE && one != Outcome::OVERFLOW) return;
        }
    });
    return {all, done};
}

nb::object pair_statistics_of(const Step& self, int law) {
    const PairStatistics& one = self.points.statistics.at(law);
    return nb::make_tuple(one.n_pressing, one.n_slipping, array_of(one.force), array_of(one.moment), one.steps, one.unsolved,
                          one.outside);
}

/// Statistics of each link as a structured NumPy array, a view.
nb::object link_statistics_of(nb::handle_t<Step> self) {
    auto& all = nb::cast<Step&>(self).links.statistics;
    const LinkStatistics s;
    const nb::object dtype =
        Fields(s)
            .add("mode", "i8", s.mode).add("kind", "i8", s.kind).add("evaluations", "i8", s.evaluations)
            .add("steps", "i8", s.steps).add("all_evaluations", "i8", s.all_evaluations).add("unsolved", "i8", s.unsolved)
            .add("outside", "i8", s.outside).add("uncovered", "i8", s.uncovered).add("impulse", "6f8", s.impulse)
            .add("last_query", "6f8", s.last_query).dtype();
    const std::size_t shape[1] = {all.size() * sizeof(LinkStatistics)};
    nb::ndarray<nb::numpy, std::uint8_t> bytes(reinterpret_cast<std::uint8_t*>(all.data()), 1, shape, self);
    return nb::cast(bytes).attr("view")(dtype);
}

/// Points of the last step that press: laws, positions, normals, impulses in the world, whether they slip, distances, torques.
nb::object points_of(const Step& self) {
    std::vector<ContactPoint> pressing;
    for (const ContactPoint& point : self.points.points)
        if (point.presses()) pressing.push_back(point);
    const std::size_t n = pressing.size();
    return nb::make_tuple(values_of<std::int64_t>(n, [&](int k) { return pressing[k].key; }),
                          rows_of(n, 3, [&](int k) { return pressing[k].position; }),
                          rows_of(n, 3, [&](int k) { return pressing[k].z; }),
                          rows_of(n, 3, [&](int k) { return pressing[k].world_impulse(); }),
                          values_of<std::int64_t>(n, [&](int k) { return pressing[k].slips; }),
                          values_of<double>(n, [&](int k) { return pressing[k].distance; }),
                          rows_of(n, 3, [&](int k) { return pressing[k].world_torque(); }));
}

auto link_points_of(const Step& self, int link) {
    if (link < 0 || link >= self.links.size()) throw nb::index_error("There is no link of that number.");
    const std::vector<Vector> points = self.links.points(link);
    return rows_of(points.size(), 3, [&](int k) { return points[k]; });
}

/// A, b, x, bounds (m, 2) and coefficients of the last group of points that was solved.
nb::object problem_of(const Step& self) {
    PointProblem* const problem = self.points.last_problem();
    const PointFriction none, &p = problem ? problem->friction : none;
    std::vector<double> bounds, coefficients;
    for (const Bounds& one : p.bounded) bounds.push_back(one.low), bounds.push_back(one.high);
    for (const SlidingPoint& point : p.points) coefficients.push_back(point.coefficient);
    return nb::make_tuple(copy_of_matrix(problem ? problem->delassus() : p.A), copy_of(p.b), copy_of(p.x), copy_of(bounds, {p.bounded.size(), 2}),
                          copy_of(coefficients));
}

// The memory of a step is a table of rows of eight numbers, for `save`: links beside points (LINK, number, impulse), bodies that
// the user moves (two rows each), impulses at points.
constexpr double LINK = -1.0;
constexpr std::size_t WIDTH = 8;
static_assert(sizeof(RememberedImpulse) == WIDTH * sizeof(double) && sizeof(UserMovedBody) == 2 * WIDTH * sizeof(double) &&
              sizeof(Wrench) == 6 * sizeof(double));

/// Links alone start each step from nothing but MuJoCo's state.
std::size_t link_rows(const Step& self) { return self.points.statistics.empty() ? 0 : self.links.last.size(); }

nb::object memory_of(const Step& self) {
    const auto& moved = self.points.moved.all;
    const auto& impulses = self.points.memory.impulses;
    std::vector<double> rows;
    for (std::size_t k = 0; k < link_rows(self); ++k) {
        rows.insert(rows.end(), {LINK, static_cast<double>(k)});
        rows.resize(rows.size() + 6);
        write(self.links.last[k], rows.data() + rows.size() - 6);
    }
    const auto append = [&rows](const double* first, std::size_t count) { rows.insert(rows.end(), first, first + count); };
    if (!self.points.statistics.empty()) append(reinterpret_cast<const double*>(moved.data()), 2 * WIDTH * moved.size());
    append(reinterpret_cast<const double*>(impulses.data()), WIDTH * impulses.size());
    return nb::cast(copy_of(rows, {rows.size() / WIDTH, WIDTH}));
}

void set_memory(Step& self, Input<double, -1, 8> rows) {
    auto& moved = self.points.moved.all;
    const bool has_points = !self.points.statistics.empty();
    const std::size_t n = rows.shape(0), first = link_rows(self), next = first + (has_points ? 2 * moved.size() : 0);
    const auto row = [&](std::size_t k) { return rows.data() + WIDTH * k; };
    bool fits = n >= next && (has_points || n == 0);
    for (std::size_t k = 0; fits && k < n; ++k) fits = (row(k)[0] == LINK) == (k < first);
    for (std::size_t k = 0; fits && has_points && k < moved.size(); ++k) fits = row(first + 2 * k)[0] == moved[k].body;
    if (!fits) throw Refusal("This state is of a simulation with another model or other laws.");
    for (std::size_t k = 0; k < first; ++k) self.links.last[k] = wrench_from(row(k) + 2);
    if (!has_points) return;
    std::copy(row(first), row(next), reinterpret_cast<double*>(moved.data()));
    self.points.memory.impulses.resize(n - next);
    std::copy(row(next), row(n), reinterpret_cast<double*>(self.points.memory.impulses.data()));
}

/// Visit all counts but those of the links.
template <class Self, class Visit> void visit_counts(Self& self, Visit visit) {
    visit(self.unsolved), visit(self.rounds);
    visit(self.points.unsolved), visit(self.points.contact_steps), visit(self.points.newton_steps);
    visit(self.contact_steps);
    for (auto& one : self.points.statistics) visit(one.steps), visit(one.unsolved), visit(one.outside);
    for (auto& count : self.points.uncovered) visit(count);
}

nb::object counts_of(const Step& self) {
    std::vector<std::int64_t> all;
    visit_counts(self, [&](const std::int64_t& count) { all.push_back(count); });
    return nb::cast(copy_of(all));
}

void set_counts(Step& self, Input<std::int64_t, -1> counts) {
    std::size_t size = 0;
    visit_counts(self, [&](std::int64_t&) { ++size; });
    if (counts.size() != size) throw nb::value_error("These counts are of other laws or bodies.");
    const std::int64_t* next = counts.data();
    visit_counts(self, [&](std::int64_t& count) { count = *next++; });
}

void add_curved(PairTable& table, int geom, Input<double, -1, 3> normals, Input<double, -1> offsets, Input<double, -1, 3, 3> curvatures) {
    const std::size_t n = normals.shape(0);
    if (n == 0 || offsets.shape(0) != n || curvatures.shape(0) != n) throw nb::value_error("There must be a row for each face.");
    std::vector<CurvedMesh::Face> faces;
    for (std::size_t k = 0; k < n; ++k) {
        const double* K = curvatures.data() + 9 * k;
        faces.push_back({vector_from(normals.data() + 3 * k), offsets.data()[k], {K[0], K[1], K[2], K[4], K[5], K[8]}});
    }
    table.curved[geom] = CurvedMesh(std::move(faces));
}

constexpr std::size_t PAIR_WIDTH = 7;

/// Statistics of the run, with the time of each phase [ns]: see report.py, which reads them by their places.
nb::object run_statistics_of(const Step& self) {
    const RunStatistics& run = self.points.run;
    std::vector<std::int64_t> counts{run.steps, run.points, run.most_points, self.clock.steps, self.clock.measured};
    counts.insert(counts.end(), self.clock.nanoseconds.begin(), self.clock.nanoseconds.end());
    counts.insert(counts.end(), run.residuals.counts.begin(), run.residuals.counts.end());
    std::vector<double> rows;
    for (const GeomPairStatistics& one : run.pairs)
        for (const double value : {double(one.geom1), double(one.geom2), double(one.steps), double(one.unsolved),
                                   double(one.points), one.depth, one.start_depth})
            rows.push_back(value);
    return nb::make_tuple(copy_of(counts), run.greatest_residual, copy_of(rows, {run.pairs.size(), PAIR_WIDTH}));
}

void set_run_statistics(Step& self, const std::tuple<Input<std::int64_t, -1>, double, Input<double, -1, PAIR_WIDTH>>& all) {
    const auto& [counts, greatest_residual, rows] = all;
    RunStatistics& run = self.points.run;
    auto& times = self.clock.nanoseconds;
    auto& residuals = run.residuals.counts;
    if (counts.size() != 5 + times.size() + residuals.size()) throw nb::value_error("These are no statistics of a run.");
    const std::int64_t* next = counts.data();
    for (std::int64_t* one : {&run.steps, &run.points, &run.most_points, &self.clock.steps, &self.clock.measured})
        *one = *next++;
    std::copy_n(next, times.size(), times.begin());
    std::copy_n(next + times.size(), residuals.size(), residuals.begin());
    run.greatest_residual = greatest_residual;
    std::vector<GeomPairStatistics> pairs;
    for (std::size_t k = 0; k < rows.shape(0); ++k) {
        const double* row = rows.data() + PAIR_WIDTH * k;
        const auto count = [&](int place) { return static_cast<std::int64_t>(row[place]); };
        pairs.push_back({static_cast<int>(row[0]), static_cast<int>(row[1]), count(2), count(3), count(4), row[5], row[6]});
    }
    run.set_pairs(std::move(pairs));
}

void bind_setup(nb::module_& m) {
    nb::class_<Engine>(m, "Engine", "A model and its data, which must outlive it.");
    nb::class_<EngineLayout>(m, "EngineLayout", "Addresses of MuJoCo's functions, and offsets of the fields of its structs.")
        .def("__init__",
             [](EngineLayout* self, const Addresses& functions, const std::map<std::string, int>& constants,
                const Addresses& model, const Addresses& data, const Addresses& contact) {
                 new (self) EngineLayout{functions, model, data, contact, constants};
             },
             nb::kw_only(), "functions"_a, "constants"_a, "model"_a, "data"_a, "contact"_a)
        .def("engine", &engine_of, "model"_a, "data"_a, "damping"_a, "state_size"_a,
             "The engine of the structs at these addresses.");

    nb::enum_<Outcome>(m, "Outcome", "Result of a time step: see core/mujoco/step.hpp.")
        .value("DONE", Outcome::DONE).value("NOT_FINITE", Outcome::NOT_FINITE).value("RESET", Outcome::RESET)
        .value("UNSUPPORTED_INTEGRATOR", Outcome::UNSUPPORTED_INTEGRATOR).value("BAD_TIMESTEP", Outcome::BAD_TIMESTEP)
        .value("SLEEP", Outcome::SLEEP).value("BAD_CONTROL", Outcome::BAD_CONTROL).value("OVERFLOW", Outcome::OVERFLOW);

    nb::class_<PairLaw>(m, "PairLaw", "Friction and restitution between two surfaces.")
        .def("__init__",
             [](PairLaw* self, const FrictionMap& map, double e0, double fall, double threshold, bool body_axes,
                int n_sub_impacts, double impact_time, double lever, double lag, bool names_both, bool even_faces) {
                 new (self) PairLaw{map, {e0, fall, threshold}, body_axes, n_sub_impacts, impact_time, lever, lag, names_both, even_faces};
             },
             nb::kw_only(), "map"_a, "e0"_a, "fall"_a, "threshold"_a, "body_axes"_a, "n_sub_impacts"_a,
             "impact_time"_a, "lever"_a, "lag"_a, "names_both"_a, "even_faces"_a);
    nb::class_<PairTable>(m, "PairTable", "The law of each pair of geoms: see core/mujoco/contact_point.hpp.")
        .def(nb::init<>())
        .def("__init__",
             [](PairTable* self, std::vector<int> class_of, int n_classes, int n_unnamed, std::vector<int> laws,
                std::vector<double> gaps, const std::vector<std::tuple<int, int, double>>& pair_gaps) {
                 new (self) PairTable{std::move(class_of), n_classes, n_unnamed, std::move(laws), std::move(gaps), {}, {}};
                 for (const auto& [first, second, gap] : pair_gaps) self->pair_gaps[std::minmax(first, second)] = gap;
             },
             nb::kw_only(), "class_of"_a, "n_classes"_a, "n_unnamed"_a, "laws"_a, "gaps"_a, "pair_gaps"_a)
        .def("add_curved", &add_curved, nb::kw_only(), "geom"_a, "normals"_a, "offsets"_a, "curvatures"_a,
             "A mesh that stands for a smooth surface: see src/stiction/mujoco/smooth_meshes.py.");

    nb::class_<Ground>(m, "Ground", "Planes and boxes that do not move, on which links stand.")
        .def("__init__", &new_ground, nb::kw_only(), "axes"_a, "height"_a, "support"_a, "endless"_a,
             "axes: of each plane, rows x, y and normal, (p, 3, 3); height: along its normal [m], (p,); support: cosine of its "
             "normal with up, (p,); endless: whether a plane carries a link by more than faces of boxes, (n, p)")
        .def("add_box", &add_box, nb::kw_only(), "centre"_a, "axes"_a, "half"_a, "faces"_a, "meets"_a,
             "centre (3,), axes in rows (3, 3), half edges (3,); faces: planes of +x, -x, +y ..., (6,); meets: whether each "
             "link may touch it, (n,)");
    nb::class_<LinkSetup>(m, "LinkSetup", "The links of a model that have a learned law, and their ground.")
        .def(nb::init<>())
        .def("__init__", &new_link_setup, nb::kw_only(), "links"_a, "bodies"_a, "frames"_a, "ground"_a, "plane_geoms"_a,
             "spins"_a, "solver"_a.none());
}

void bind_steps(nb::module_& m) {
    nb::class_<Step>(m, "Step", "Steps of MuJoCo in which chosen contacts follow laws.")
        .def("__init__", &new_step, nb::kw_only(), "engine"_a, "laws"_a, "table"_a, "links"_a, "softness"_a, "tolerance"_a,
             "max_substep"_a)
        .def("steps", &steps_of, "count"_a,
             "Take `count` steps, or fewer if one cannot be completed: the last outcome, and how many were completed.")
        .def("reset", &Step::reset, "Forget what is remembered of the last step.")
        .def("reset_counts", &Step::reset_counts)
        .def("pair_statistics", &pair_statistics_of, "law"_a)
        .def_prop_ro("link_statistics", &link_statistics_of, "Statistics of each link, a view.")
        .def("points", &points_of)
        .def("link_points", &link_points_of, "link"_a,
             "Contact points of a link at the start of the last step, world axes [m], (k, 3).")
        .def("problem", &problem_of, "The last group of points that was solved: A, b, x, bounds and coefficients.")
        .def_prop_rw("memory", &memory_of, &set_memory, "What the next step must know of the last, (n, 8).")
        .def_prop_rw("counts", &counts_of, &set_counts, "All counts but those of the links, (n,).")
        .def_prop_rw("run_statistics", &run_statistics_of, &set_run_statistics,
                     "Counts (steps with points, points, most points, steps, steps whose time was measured, time of each phase [ns], "
                     "histogram of residuals), greatest residual, and of each pair of geoms: geoms, steps, unsolved, points, depth, depth at the start [m].")
        .def_prop_ro("uncovered", [](const Step& self) { return copy_of(self.points.uncovered); }, nb::rv_policy::automatic,
                     "Steps in which each body touched something that its materials do not cover.")
        .def_prop_ro("touching", [](const Step& self) { return self.links.touching; },
                     "Numbers of the links that touch.")
        .def_prop_ro("predicted", [](const Step& s) { return copy_of(s.links.predicted); }, nb::rv_policy::automatic,
                     "Twists (6 n,) of the touching links after the step, axes of their planes.")
        .def_prop_ro("V_free", [](const Step& s) { return copy_of(s.links.V_free); }, nb::rv_policy::automatic,
                     "The same without their contact impulses.")
        .def("centre",
             [](const Step& self, int body) { return array_of(vector_from(*self.engine.data.xipos + 3 * body)); },
             "body"_a, "Centre of mass of a body at the start of the last step [m], (3,).")
        .def("set_touch_sensors",
             [](Step& self, const std::vector<std::tuple<int, int, int, int, double>>& sensors) {
                 self.points.touch_sensors.clear();
                 for (const auto& [address, site, body, shape, cutoff] : sensors)
                     self.points.touch_sensors.push_back({address, site, body, shape, cutoff});
             },
             "sensors"_a, "Addresses in sensordata, sites, bodies, shapes of sites and cutoffs of touch sensors.")
        .def_rw("forces_wanted", &Step::forces_wanted)
        .def_ro("unsolved", &Step::unsolved, "Steps without an exact solution.")
        .def_ro("all_contact_steps", &Step::contact_steps, "Steps in which points or links were in contact.")
        .def_ro("rounds", &Step::rounds, "Integrations in all steps.")
        .def_prop_ro("n_uncovered",
                     [](const Step& self) {
                         const auto& bodies = self.points.uncovered;
                         const auto& links = self.links.statistics;
                         return std::count_if(bodies.begin(), bodies.end(), [](auto count) { return count > 0; }) +
                                std::count_if(links.begin(), links.end(), [](const auto& one) { return one.uncovered > 0; });
                     },
                     "Number of bodies with a law that have touched something that no law covers.")
        .def_prop_ro("points_unsolved", [](const Step& self) { return self.points.unsolved; },
                     "Steps without an exact solution for the points.")
        .def_prop_ro("contact_steps", [](const Step& self) { return self.points.contact_steps; })
        .def_prop_ro("newton_steps", [](const Step& self) { return self.points.newton_steps; })
        .def_prop_ro("work", [](const Step& self) { return self.points.work(); },
                     "Kinetic energy that contact at points added in the last step [J].");

    m.def("substeps_of", &substeps_of, "timestep"_a, "max_substep"_a,
          "Into how many equal sub-steps a step is divided.");
    m.def("run_motions",
          [](const std::vector<Step*>& workers, Input<double, -1, -1> initial, Input<double, -1, -1> warmstart,
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
              without_lock([&] { run_motions(all, workers, &check_for_interrupts); });
          },
          "workers"_a, "initial"_a, "warmstart"_a.none(), "control"_a.none(), "state"_a, "sensors"_a, nb::kw_only(),
          "state_kind"_a, "control_kind"_a,
          "Run motions (n, steps) in as many threads as there are workers; state and sensors are written.");
}

}  // namespace

void bind_mujoco(nb::module_& m) {
    bind_setup(m);
    bind_steps(m);
}

}  // namespace stiction
