// Steps of robots inside an engine, for Python.
#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>

#include "python/python_robot_step.hpp"

namespace stiction {
namespace {

/// The engine's arrays by their names, looked at where they are: nothing is converted or copied.
class Arrays {
  public:
    explicit Arrays(nb::dict arrays) : arrays_(std::move(arrays)) {}

    template <class T> std::span<T> numbers(const char* name) const {
        nb::ndarray<T, nb::c_contig, nb::device::cpu> array;
        if (!nb::try_cast(arrays_[name], array, false))
            throw nb::value_error((std::string("The array ") + name + " has another type or layout.").c_str());
        return {array.data(), array.size()};
    }
    template <class T> T* operator()(const char* name, std::size_t least) const {
        const std::span<T> all = numbers<T>(name);
        if (all.size() < least) throw nb::value_error((std::string("The array ") + name + " is too short.").c_str());
        return all.data();
    }

  private:
    nb::dict arrays_;
};

EngineArrays engine_arrays(const Arrays& get) {
    EngineArrays out{};
    out.qpos = get.numbers<double>("qpos"), out.qvel = get.numbers<double>("qvel");
    const std::size_t dofs = out.qvel.size(), bodies = get.numbers<double>("xipos").size() / 3;
    out.xipos = get.operator()<const double>("xipos", 3 * bodies);
    out.xmat = get.operator()<const double>("xmat", 9 * bodies);
    out.subtree_com = get.operator()<const double>("subtree_com", 3 * bodies);
    out.cdof = get.operator()<const double>("cdof", 6 * dofs);
    out.M = get.operator()<const double>("M", dofs);
    out.M_rowadr = get.operator()<const int>("M_rowadr", dofs);
    out.M_colind = get.operator()<const int>("M_colind", dofs);
    out.qacc = get.operator()<const double>("qacc", dofs);
    out.qfrc_smooth = get.operator()<const double>("qfrc_smooth", dofs);
    out.qfrc_constraint = get.operator()<const double>("qfrc_constraint", dofs);
    out.xfrc_applied = get.operator()<double>("xfrc_applied", 6 * bodies);
    out.dof_damping = {get.operator()<const double>("dof_damping", dofs), dofs};
    for (const char* name : {"dof_dampingpoly", "actuator_damping", "actuator_dampingpoly"})
        out.other_damping.push_back(get.numbers<const double>(name));
    return out;
}

/// Raise unless each row of the joint-space inertia lies within its array and ends with its diagonal.
void check_inertia(const Arrays& get, int dofs) {
    const auto rows = get.numbers<const int>("M_rowadr"), columns = get.numbers<const int>("M_colind");
    const std::size_t size = std::min(get.numbers<const double>("M").size(), columns.size());
    for (int r = 0; r < dofs; ++r) {
        std::size_t k = rows[r] < 0 ? size : std::size_t(rows[r]);
        while (k < size && 0 <= columns[k] && columns[k] < r) ++k;
        if (k >= size || columns[k] != r) throw nb::value_error("A row of M does not end with its diagonal.");
    }
}

Ground new_ground(Input<double, -1, 3, 3> axes, Input<double, -1> height, const std::vector<double>& support,
                  const std::vector<std::vector<bool>>& endless, Input<double, -1, 3> centre,
                  Input<double, -1, 3, 3> turn, Input<double, -1, 3> half, const std::vector<std::array<int, 6>>& faces,
                  const std::vector<std::vector<bool>>& meets) {
    const std::size_t n = axes.shape(0), boxes = centre.shape(0);
    if (n == 0 || height.shape(0) != n || support.size() != n)
        throw nb::value_error("axes, height and support must have a row for each plane, and there must be one.");
    if (turn.shape(0) != boxes || half.shape(0) != boxes || faces.size() != boxes)
        throw nb::value_error("centre, turn, half and faces must have a row for each box.");
    std::vector<GroundPlane> planes;
    for (std::size_t p = 0; p < n; ++p) {
        const Rotation R = rotation_from(axes.data() + 9 * p);
        planes.push_back({R, height.data()[p], support[p], R.x.x == 1.0 && R.y.y == 1.0 && R.z.z == 1.0});
    }
    std::vector<GroundBox> all;
    for (std::size_t b = 0; b < boxes; ++b) {
        const auto is_none = [&](int plane) { return plane < 0 || plane >= static_cast<int>(n); };
        if (std::any_of(faces[b].begin(), faces[b].end(), is_none))
            throw nb::value_error("A face names a plane that is not there.");
        all.push_back({vector_from(centre.data() + 3 * b), rotation_from(turn.data() + 9 * b),
                       vector_from(half.data() + 3 * b), faces[b]});
    }
    if (endless.size() != meets.size()) throw nb::value_error("endless and meets must have a row for each link.");
    const auto flat = [](const std::vector<std::vector<bool>>& rows, std::size_t columns, const char* why) {
        std::vector<char> values;
        for (const auto& row : rows) {
            if (row.size() != columns) throw nb::value_error(why);
            values.insert(values.end(), row.begin(), row.end());
        }
        return values;
    };
    return {std::move(planes), std::move(all), flat(endless, n, "endless must have a value for each link and plane."),
            flat(meets, boxes, "meets must have a value for each link and box."), static_cast<int>(meets.size())};
}

void new_robot_step(PythonRobotStep* self, std::shared_ptr<PythonLinks> links, nb::dict arrays,
                    const std::vector<int>& body, const std::vector<int>& root,
                    const std::vector<std::vector<int>>& dofs, Input<double, -1, 3, 3> frame, Ground ground,
                    double tolerance, const std::vector<std::array<int, 2>>& spins, int quadratic, int cone) {
    const std::size_t n = static_cast<std::size_t>(links->size());
    if (body.size() != n || root.size() != n || dofs.size() != n || frame.shape(0) != n)
        throw nb::value_error("body, root, dofs and frame must have a row for each link.");
    if (ground.links() != static_cast<int>(n)) throw nb::value_error("The ground is for another number of links.");
    const EngineArrays engine = engine_arrays(Arrays(arrays));
    const int bodies = static_cast<int>(Arrays(arrays).numbers<double>("xipos").size() / 3);
    std::vector<PlacedLink> placed;
    for (std::size_t i = 0; i < n; ++i) {
        const double* R = frame.data() + 9 * i;
        PlacedLink& link = placed.emplace_back();
        link.body = body[i], link.root = root[i], link.dofs = dofs[i], link.frame = rotation_from(R);
        const auto is_no_dof = [&](int d) { return d < 0 || d >= static_cast<int>(engine.qvel.size()); };
        if (std::min(body[i], root[i]) < 0 || std::max(body[i], root[i]) >= bodies ||
            std::any_of(dofs[i].begin(), dofs[i].end(), is_no_dof))
            throw nb::value_error("A link names a body or a dof that is not there.");
    }
    for (const auto& [place, dof] : spins)
        if (place < 0 || dof < 0 || place + 4u > engine.qpos.size() || dof + 3u > engine.qvel.size())
            throw nb::value_error("A spin lies outside of qpos and qvel.");
    check_inertia(Arrays(arrays), static_cast<int>(engine.qvel.size()));
    const EngineConstraints constraints{.quadratic = quadratic, .cone = cone};
    auto step = std::make_unique<RobotStep>(links, engine, std::move(placed), std::move(ground), tolerance, spins);
    new (self) PythonRobotStep(std::move(arrays), constraints, std::move(links), std::move(step));
}

/// What became of each link's contact, as a structured NumPy array, a view.
nb::object notes_of(nb::handle_t<PythonRobotStep> self) {
    auto& notes = nb::cast<PythonRobotStep&>(self).robot->notes;
    Fields fields;
    fields.add("mode", "i8", offsetof(ContactNote, mode));
    fields.add("kind", "i8", offsetof(ContactNote, kind));
    fields.add("evaluations", "i8", offsetof(ContactNote, evaluations));
    fields.add("steps", "i8", offsetof(ContactNote, steps));
    fields.add("asked", "i8", offsetof(ContactNote, asked));
    fields.add("unsolved", "i8", offsetof(ContactNote, unsolved));
    fields.add("outside", "i8", offsetof(ContactNote, outside));
    fields.add("uncovered", "i8", offsetof(ContactNote, uncovered));
    fields.add("impulse", "6f8", offsetof(ContactNote, impulse));
    fields.add("asked_at", "6f8", offsetof(ContactNote, asked_at));
    const std::size_t shape[1] = {notes.size() * sizeof(ContactNote)};
    nb::ndarray<nb::numpy, std::uint8_t> bytes(reinterpret_cast<std::uint8_t*>(notes.data()), 1, shape, self);
    return nb::cast(bytes).attr("view")(fields.dtype(sizeof(ContactNote)));
}

/// A view of numbers that belong to a RobotStep and stay where they are.
auto view(nb::handle_t<PythonRobotStep> self, std::vector<double>& values) {
    const std::size_t shape[1] = {values.size()};
    return nb::ndarray<nb::numpy, double>(values.data(), 1, shape, self);
}

}  // namespace

void bind_robots(nb::module_& m) {
    using Self = PythonRobotStep;
    nb::enum_<Progress>(m, "Progress", nb::is_arithmetic(), "What a round of a step's contact part says.")
        .value("AGAIN", Progress::AGAIN).value("DONE", Progress::DONE).value("UNKNOWN", Progress::UNKNOWN);
    m.attr("MOST_ROUNDS") = MOST_ROUNDS;
    nb::class_<Ground>(m, "Ground", "Planes and boxes that do not move, on which links stand.")
        .def("__init__",
             [](Ground* self, Input<double, -1, 3, 3> axes, Input<double, -1> height, const std::vector<double>& support,
                const std::vector<std::vector<bool>>& endless, Input<double, -1, 3> centre,
                Input<double, -1, 3, 3> turn, Input<double, -1, 3> half, const std::vector<std::array<int, 6>>& faces,
                const std::vector<std::vector<bool>>& meets) {
                 new (self) Ground(new_ground(axes, height, support, endless, centre, turn, half, faces, meets));
             },
             nb::kw_only(), nb::arg("axes"), nb::arg("height"), nb::arg("support"), nb::arg("endless"),
             nb::arg("centre"), nb::arg("turn"), nb::arg("half"), nb::arg("faces"), nb::arg("meets"),
             "axes: of each plane, rows x, y and normal, (p, 3, 3); height: along its normal [m], (p,); support: how far "
             "it looks up, (p,); endless: whether a plane carries a link by more than faces of boxes, (n, p). centre, turn, half: of each box, rows of turn are its axes, (b, 3), "
             "(b, 3, 3), (b, 3); faces: the planes of +x, -x, +y ..., (b, 6); meets: whether a link may touch a box, (n, b).");
    nb::class_<Self>(m, "RobotStep", "The part of an engine's step in which links touch the ground.")
        .def("__init__", &new_robot_step, nb::arg("links"), nb::arg("arrays"), nb::kw_only(), nb::arg("body"),
             nb::arg("root"), nb::arg("dofs"), nb::arg("frame"), nb::arg("ground"), nb::arg("tolerance"),
             nb::arg("spins"), nb::arg("quadratic"), nb::arg("cone"),
             "arrays: the engine's, by their names; they are looked at where they are.")
        .def("is_finite", [](const Self& s) { return s.robot->is_finite(); },
             "Whether all positions and velocities are numbers that the engine takes.")
        .def("touch", &Self::touch, nb::arg("timestep"), nb::arg("is_first") = true,
             "Begin a step, or with is_first=False another part of one; timestep: of the part. How many links touch.")
        .def("set_constraints", &Self::set_constraints, nb::arg("J").noconvert(), nb::arg("D").noconvert(),
             nb::arg("state").noconvert(), nb::arg("layout").noconvert(), "The engine's own constraints in this step.")
        .def("contact_part", &Self::contact_part,
             "A round: apply forces that bring the contact impulses. A value of Progress.")
        .def("find_linear", &Self::find_linear,
             "The first part of a round: how the links follow impulses; False where that must be tried out.")
        .def("set_linear", &Self::set_linear,
             "The same where it was tried out: V (6 n,), R (dofs, 6 n) and L (6 n, 6 n).")
        .def("begin_with_last", &Self::begin_with_last, nb::arg("timestep"),
             "Instead of a first round: apply forces that bring the impulses of the last step.")
        .def("is_applied", &Self::is_applied,
             "After `solve`: whether the solution does the same as the forces that are applied now.")
        .def("came_true", &Self::came_true,
             "The second part: whether what the last round foresaw has come true. If not, V_free and L are known.")
        .def("solve", &Self::solve, "The third part: Algorithm 2.")
        .def("apply", &Self::apply, nb::arg("timestep"), nb::arg("round"), nb::arg("share") = 1.0,
             "The fourth part: forces that bring the impulses of the solution, or from the second round on a share of the way "
             "to them. A value of Progress.")
        .def("plan_rise", &Self::plan_rise,
             "After the last round: how what has sunk in is to rise.")
        .def("withdraw", [](Self& s) { s.robot->withdraw(); }, "Take our forces off, where a step cannot be finished.")
        .def("finish", &Self::finish,
             "After the engine's step. True if the engine must move `before` by `rise`, and `take_positions` follow.")
        .def("take_positions", [](Self& s) { s.robot->take_positions(); })
        .def("forget", [](Self& s) { s.robot->forget(); }, "Set all counts to zero.")
        .def("points",
             [](const Self& s, int link) {
                 if (link < 0 || link >= s.links->size()) throw nb::index_error("There is no link of that number.");
                 const std::vector<Vector> points = s.robot->points(link);
                 double* out;
                 auto result = new_array<double>({points.size(), 3}, &out);
                 for (const Vector& p : points) write(p, out), out += 3;
                 return result;
             },
             "Contact points of a link at the begin of the last step, world axes [m], (k, 3).")
        .def_prop_ro("planes",
             [](const Self& s) {
                 std::int64_t* out;
                 auto result = new_array<std::int64_t>({std::size_t(s.links->size())}, &out);
                 for (int i = 0; i < s.links->size(); ++i) *out++ = s.robot->placed(i).plane;
                 return result;
             }, nb::rv_policy::automatic, "Number of the plane that each link stands on in this step; -1: none.")
        .def_prop_ro("touching", [](const Self& s) { return touching(*s.links); }, nb::rv_policy::automatic,
                     "Numbers of the links that touch.")
        .def_prop_ro("V_free", [](const Self& s) {
                 const std::span<double> V = s.robot->V_free();
                 return copy_of<double>(V, {V.size()});
             }, nb::rv_policy::automatic, "Twists (6 n,) of the touching links after the step without contact, axes of their planes.")
        .def_prop_ro("L", [](const Self& s) {
                 const Matrix& L = s.robot->linear().L;
                 const std::size_t n = L.rows();
                 return copy_of<double>({L[0], n * n}, {n, n});
             }, nb::rv_policy::automatic, "Inverse inertia (6 n, 6 n) of the touching links inside the system.")
        .def_prop_ro("foreseen",
                     [](const Self& s) { return copy_of<double>(s.robot->foreseen, {s.robot->foreseen.size()}); },
                     nb::rv_policy::automatic, "Twists (6 n,) of the touching links after the step.")
        .def_prop_ro("error", [](const Self& s) { return s.robot->error; },
                     "By which what was foreseen did not come true, relative to what the impulses change.")
        .def_prop_ro("notes", &notes_of, "What became of each link's contact, a view.")
        .def_prop_ro("last",
                     [](nb::handle_t<Self> s) {
                         std::vector<Wrench>& last = nb::cast<Self&>(s).robot->last;
                         static_assert(sizeof(Wrench) == 6 * sizeof(double));
                         const std::size_t shape[2] = {last.size(), 6};
                         return nb::ndarray<nb::numpy, double>(reinterpret_cast<double*>(last.data()), 2, shape, s);
                     },
                     "Impulse of each link in the last step, world axes, (n, 6), a view.")
        .def_prop_ro("rise", [](nb::handle_t<Self> s) { return view(s, nb::cast<Self&>(s).robot->rise); },
                     "Velocity of the joints that raises what has sunk in, a view.")
        .def_prop_ro("before", [](nb::handle_t<Self> s) { return view(s, nb::cast<Self&>(s).robot->before); },
                     "Positions of the joints before the step, a view.");
}

}  // namespace stiction
