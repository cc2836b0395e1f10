"""Algorithm 2: its equation against the paper's joint-force equation, its parts, and what it does with any law."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls, root

from contact_states import handled, lowest_separation, random_contacts
from multibody import H, hinged_box, joined_links
from stiction import AugmentedLaw, Body, CoulombLaw, InputError, Law, Mode, _core
from stiction.laws.learned import StatisticalLaw
from stiction.mujoco.links import Links

BOX = Body.box((0.5, 0.1, 0.08), 1.0)
LAW = CoulombLaw(BOX, 0.5, cone="round", softness=0.0)
STATES = 200  # in contact, of each sort


def joint_force_equation(system):
    """A, c and V1(f_j) of the paper's equations 6 and following: nothing here knows of L."""
    W, W_up = np.linalg.inv(system.M), np.linalg.inv(system.M_up)
    J, J_up = system.J, system.J_up
    A = H * J @ W @ J.T + H * J_up @ W_up @ J_up.T
    c = J @ system.twist + H * J @ W @ system.tau - (J_up @ system.dq_up + H * J_up @ W_up @ system.tau_up)

    def V1(f):  # noqa: N802
        return system.twist + H * W @ (system.tau + J.T @ f)

    return A, c, V1, J @ W


def handler(law, contacts, V1):
    """H(V1), Algorithm 1, of the only contact."""
    contacts.set_velocity(np.asarray(V1, dtype=np.float64)[np.newaxis])
    return handled(law, contacts)[0][0]


@pytest.mark.parametrize("planar", [True, False])
def test_equals_joint_force_form(planar):
    """With the joint force that belongs to our p, the paper's G is zero and its V1 is ours."""
    rng = np.random.default_rng(10 + planar)
    links = Links([LAW], tolerance=1e-12)
    asked = contact = unsolved = mirrored = 0
    worst = 0.0
    while contact < STATES:
        system = hinged_box(BOX, rng, planar)
        V_free, L = system.whole()
        contacts = system.touch(links)
        solution = links.solve(V_free, L)
        p = solution.impulse[0]
        A, c, V1, JW = joint_force_equation(system)
        f = -np.linalg.solve(A, c + JW @ p)
        after = V1(f) + np.linalg.solve(system.M, p)
        size = np.abs(V_free).max()
        assert np.abs(after - (V_free + L @ p)).max() < 1e-8 * size  # whatever p is
        if solution.mode[0] == Mode.DETACH or not solution.solved:
            unsolved += not solution.solved
            continue
        answer = handler(LAW, contacts, V1(f))
        if planar and np.abs(answer[[1, 3, 5]]).max() > 1e-6 * answer[2]:
            mirrored += 1  # two mirrored answers are as good, the law gives one of them: a chain takes their middle
            continue
        contact += 1
        asked += solution.evaluations
        G = A @ f + JW @ answer + c
        worst = max(worst, np.abs(G[[0, 2]] if planar else G).max() / size)  # in the plane, where the hinge holds it
    print(
        f"planar {planar}: {contact} contacts, residual of G at most {worst:.1e}, {asked / contact:.2f} evaluations; "
        f"{unsolved} more without a consistent mode, {mirrored} with two mirrored answers"
    )
    assert mirrored < 0.1 * STATES
    assert worst < 1e-8
    assert unsolved < (0.1 if planar else 0.2) * STATES  # light links, few joints, any axes: harder than most robots


def test_paper_method_finds_the_same():
    """Powell's method on the joint force, from the paper's guess, as an independent solver."""
    rng = np.random.default_rng(5)
    links = Links([LAW], tolerance=1e-12)
    same = tried = 0
    for _ in range(40):
        system = hinged_box(BOX, rng, False)
        V_free, L = system.whole()
        contacts = system.touch(links)
        solution = links.solve(V_free, L)
        if solution.mode[0] == Mode.DETACH:
            continue
        A, c, V1, JW = joint_force_equation(system)
        W_up = np.linalg.inv(system.M_up)
        up = system.J_up @ (system.dq_up + H * W_up @ system.tau_up)
        guess = np.linalg.pinv(H * system.J_up @ W_up @ system.J_up.T) @ up

        def G(f, A=A, c=c, JW=JW, V1=V1, contacts=contacts):  # noqa: N802
            return A @ f + JW @ handler(LAW, contacts, V1(f)) + c

        found = root(G, guess, method="hybr")
        tried += 1
        if np.abs(G(found.x)).max() < 1e-9 * np.abs(V_free).max():
            p = handler(LAW, contacts, V1(found.x))
            same += np.abs(p - solution.impulse[0]).max() < 1e-6 * np.abs(solution.impulse).max()
    assert tried > 10
    assert same > 0.7 * tried  # Powell's method does not always arrive, and may find another solution


def test_powell_option_is_close():
    """The option "powell" solves to 0.5 %, and says so by its residual."""
    rng = np.random.default_rng(6)
    by_modes, by_powell = Links([LAW], tolerance=1e-9), Links([LAW], method="powell")
    solved = close = evaluations = 0
    for _ in range(60):
        system = hinged_box(BOX, rng, False)
        V_free, L = system.whole()
        system.touch(by_modes)
        system.touch(by_powell)
        ours, powell = by_modes.solve(V_free, L), by_powell.solve(V_free, L)
        if powell.solved and ours.solved and ours.evaluations:
            solved += 1
            evaluations += powell.evaluations
            close += np.abs(powell.impulse - ours.impulse).max() < 0.05 * np.abs(ours.impulse).max()
    assert solved > 20
    assert close > 0.9 * solved
    assert evaluations > 5 * solved


def assert_safe(contacts, solution, V_free, L):
    """Nothing pulls, nothing sinks in, and no energy comes from contact."""
    p = solution.impulse.reshape(-1)
    after, size = (V_free + L @ p).reshape(-1, 6), np.abs(V_free).max()
    assert (p[2::6] >= -1e-9 * np.abs(p).max()).all()
    assert p @ (V_free + L @ p / 2) <= 1e-9 * max(1e-12, np.abs(p * V_free).sum())
    for i in range(len(contacts)):
        assert lowest_separation(contacts, i, after[i].copy()) > -1e-7 * size


def test_any_weights_are_safe():
    """Random networks neither pull nor sink nor add energy to the system."""
    rng = np.random.default_rng(7)
    links = Links([AugmentedLaw.untrained(BOX, seed=3)], tolerance=1e-6)
    for k in range(150):
        system = hinged_box(BOX, rng, bool(k % 2))
        V_free, L = system.whole()
        contacts = system.touch(links)
        assert_safe(contacts, links.solve(V_free, L), V_free, L)


def test_any_weights_are_safe_for_several_links():
    """The same for links that feel each other, with a law each."""
    rng = np.random.default_rng(17)
    for k in range(60):
        n = 2 + k % 3
        where, turn, V_free, L = joined_links(BOX, rng, n, int(rng.integers(0, 3 * n)))
        links = Links([AugmentedLaw.untrained(BOX, seed=s) for s in range(n)])
        assert len(links.touch(where, turn)) == n
        solution = links.solve(V_free, L)
        static = solution.mode == Mode.STATIC
        if not static.any():  # a static patch that pulls is for the law to see, and here no law does
            assert_safe(links.contacts, solution, V_free, L)


def test_free_link_is_algorithm_1(box):
    """For a link on its own, L is M_b^-1 and V1 is V_free: Algorithm 2 is Algorithm 1."""
    law = CoulombLaw(box, 0.6, cone="round", softness=0.0)
    contacts = random_contacts(box, 200, np.random.default_rng(8))
    wanted, modes = handled(law, contacts)
    links = Links([law], tolerance=1e-9)
    for i in range(200):
        c = contacts.record[i]
        assert links.touch(np.array([[0.0, 0.0, c.height]]), c.rotation[None]).tolist() == [0]
        solution = links.solve(c.velocity.copy(), contacts.inverse_inertia[i])
        assert np.abs(solution.impulse[0] - wanted[i]).max() <= 1e-8 * max(np.abs(wanted[i]).max(), 1e-6)
        if modes[i] != Mode.DETACH:
            assert solution.mode[0] == modes[i]


def test_several_links_of_different_bodies():
    """Two free bodies with different laws, stacked: each as if it were alone."""
    other = Body.prism(5, 0.2, 0.2, 1.5)
    laws = [CoulombLaw(BOX, 0.3, softness=0.0), CoulombLaw(other, 0.8, cone="round", softness=0.0)]
    links = Links(laws, tolerance=1e-10)
    turn = np.tile(np.eye(3), (2, 1, 1))
    where = np.array([[0.0, 0.0, 0.0399], [3.0, 0.0, 0.0999]])
    rng = np.random.default_rng(9)
    for _ in range(20):
        assert links.touch(where, turn).tolist() == [0, 1]
        W = links.contacts.inverse_inertia
        V = rng.normal(0, 1, 12)
        V[[2, 8]] = -1.0
        L = np.zeros((12, 12))
        L[:6, :6], L[6:, 6:] = W
        both = links.solve(V, L)
        for k in range(2):
            alone = Links([laws[k]], tolerance=1e-10)
            alone.touch(where[k : k + 1], turn[k : k + 1])
            single = alone.solve(V[6 * k : 6 * k + 6], W[k])
            assert np.allclose(both.impulse[k], single.impulse[0], rtol=1e-7, atol=1e-9)


def test_a_law_each_is_a_shared_law():
    """Links whose laws are equal but not the same object get the same impulses, in whatever order they are asked."""
    rng = np.random.default_rng(12)
    for _ in range(30):
        where, turn, V_free, L = joined_links(BOX, rng, 3, 5)
        shared = Links([LAW] * 3)
        own = Links([CoulombLaw(BOX, 0.5, cone="round", softness=0.0) for _ in range(3)])
        assert shared.touch(where, turn).tolist() == own.touch(where, turn).tolist() == [0, 1, 2]
        a, b = shared.solve(V_free, L), own.solve(V_free, L)
        assert np.array_equal(a.impulse, b.impulse) and a.evaluations == b.evaluations
        first, second = LAW, CoulombLaw(BOX, 0.5, cone="round", softness=0.0)
        mixed = Links([first, second, first])
        assert mixed.touch(where, turn).tolist() == [0, 2, 1]  # links of one law stand together
        order = np.array([[6 * i + k for k in range(6)] for i in (0, 2, 1)]).reshape(-1)
        c = mixed.solve(V_free[order], L[np.ix_(order, order)])
        if a.solved and c.solved:
            assert np.abs(c.impulse[[0, 2, 1]] - a.impulse).max() <= 0.05 * np.abs(a.impulse).max()


class Sliding(Law):
    """All contacts slide with this friction (3,)."""

    def __init__(self, body, friction=(0.0, 0.0, 0.0), softness=0.0):
        self.body, self.given, self.softness = body, friction, softness

    def classify(self, contacts):
        return np.full(len(contacts), Mode.DYNAMIC)

    def friction(self, contacts, dynamic):
        return np.tile(self.given, (len(dynamic), 1))


class Sticking(Sliding):
    """All contacts stick."""

    def classify(self, contacts):
        return np.full(len(contacts), Mode.STATIC)


def test_law_in_plain_python():
    """A law that only has classify and friction is asked by callback, and its errors come through."""

    class Broken(Sliding):
        def friction(self, contacts, dynamic):
            raise KeyError("lost")

    rng = np.random.default_rng(13)
    where, turn, V_free, L = joined_links(BOX, rng, 2, 3)
    V_free[[2, 8]] -= 2.0
    links = Links([Sliding(BOX), Sliding(BOX)])
    links.touch(where, turn)
    solution = links.solve(V_free, L)
    assert solution.solved and np.abs(solution.impulse[:, :2]).max() == 0.0 < solution.impulse[:, 2].max()
    links = Links([Broken(BOX)])
    links.touch(where[:1], turn[:1])
    with pytest.raises(KeyError, match="lost"):
        links.solve(np.array([0, 0, -1.0, 0, 0, 0]), links.contacts.inverse_inertia[0])


def normal_rows(contacts):
    """Rows (m, 6 n) from all twists to the upward speeds of all contact points."""
    rows = []
    for i in range(len(contacts)):
        for x, y, _z in contacts.points(i):
            row = np.zeros(6 * len(contacts))
            row[6 * i + 2 : 6 * i + 5] = 1.0, y, -x
            rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("rows", [0, 4, 9])
@pytest.mark.parametrize("body", [BOX, Body.prism(40, 0.2, 0.1, 1.0)], ids=["box", "many corners"])
def test_normal_impulses_of_coupled_links(rows, body):
    """Without friction, the impulses are those of the dense LCP of all vertices: 1/2 n A n + b n is least, n >= 0."""
    rng = np.random.default_rng(20 + rows)
    law = Sliding(body)
    for _ in range(60):
        n = int(rng.integers(2, 4))
        where, turn, V_free, L = joined_links(body, rng, n, rows)
        links = Links([law] * n)
        assert len(links.touch(where, turn)) == n
        p = links.solve(V_free, L).impulse.reshape(-1)
        N = normal_rows(links.contacts)
        # |F n - g|^2 / 2 with F^T F = A and F^T g = -b is the same problem: nonnegative least squares.
        values, vectors = np.linalg.eigh(L)
        half = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        F, g = half @ N.T, -np.linalg.lstsq(half.T, V_free, rcond=None)[0]
        load = nnls(F, g)[0]
        size = max(1.0, np.abs(p).max())  # links that can hardly move need large impulses
        assert np.abs(L @ (N.T @ load - p)).max() < 1e-7 * size
        speeds = N @ (V_free + L @ p)
        assert speeds.min() > -1e-9 * size
        assert np.abs(p.reshape(-1, 6)[:, [0, 1, 5]]).max() == 0.0


@pytest.mark.parametrize("softness", [1e-5, 0.1])
def test_soft_normal_impulses_of_coupled_links(softness):
    """The same with many corners that yield by a share of their own response: A n + softness diag(A) n."""
    rng = np.random.default_rng(26)
    body = Body.prism(40, 0.2, 0.1, 1.0)
    counts = []
    for _ in range(40):
        n = int(rng.integers(1, 4))
        where, turn, V_free, L = joined_links(body, rng, n, 4)
        links = Links([Sliding(body, softness=softness)] * n)
        links.touch(where, turn)
        p = links.solve(V_free, L).impulse.reshape(-1)
        N = normal_rows(links.contacts)
        A = N @ L @ N.T
        F = np.linalg.cholesky(A + softness * np.diag(np.diag(A)) + 1e-16 * np.eye(len(A))).T
        load = nnls(F, -np.linalg.solve(F.T, N @ V_free), maxiter=100 * len(A))[0]
        assert p == pytest.approx(N.T @ load, abs=1e-8 * np.abs(load).sum() + 1e-15)
        counts.extend(links.contacts.record["count"])
    assert max(counts) > 8


def test_static_links_stop_and_the_others_stay_apart():
    """The patch of a static link does not move; of one that slides nothing approaches."""
    rng = np.random.default_rng(30)
    seen = 0
    for _ in range(60):
        where, turn, V_free, L = joined_links(BOX, rng, 3, 4)
        links = Links([Sticking(BOX), Sliding(BOX), Sticking(BOX)], tolerance=1e-9)
        links.touch(where, turn)
        solution = links.solve(V_free, L)
        after = (V_free + L @ solution.impulse.reshape(-1)).reshape(3, 6)
        contacts = links.contacts
        for i in np.flatnonzero(solution.mode == Mode.STATIC).tolist():
            seen += 1
            for at in contacts.points(i):
                assert np.abs(after[i, :3] + np.cross(after[i, 3:], at)).max() < 1e-8 * np.abs(V_free).max()
        assert lowest_separation(contacts, 1, after[1].copy()) > -1e-9 * np.abs(V_free).max()
        assert np.abs(solution.impulse[1, :2]).max() == 0.0
    assert seen > 20


def test_a_coulomb_estimate_spares_evaluations():
    """A link that slides starts with the Coulomb estimate of its law, which is nearly right for Coulomb's law."""
    rng = np.random.default_rng(40)
    evaluations = []
    for _ in range(80):
        where, turn, V_free, L = joined_links(BOX, rng, 1, 0)
        V_free[2] = -abs(V_free[2]) - 0.5
        links = Links([LAW])
        links.touch(where, turn)
        solution = links.solve(V_free, L)
        if solution.mode[0] == Mode.DYNAMIC:
            evaluations.append(solution.evaluations)
    assert len(evaluations) > 30 and np.median(evaluations) <= 2


def test_refuses_law_without_modes(box):
    with pytest.raises(InputError, match="whole impulses"):
        Links([StatisticalLaw.untrained(box)])
    with pytest.raises(InputError, match="method"):
        Links([CoulombLaw(box)], method="newton")  # type: ignore[arg-type]


def test_refuses_arrays_that_do_not_fit(box):
    links = Links([CoulombLaw(box)])
    links.touch(np.array([[0.0, 0.0, 0.1]]), np.eye(3)[None])
    with pytest.raises(ValueError, match="V_free must have six numbers"):
        links.solve(np.zeros(5), np.eye(6))
    with pytest.raises(ValueError, match="a row for each link"):
        links.touch(np.zeros((2, 3)), np.tile(np.eye(3), (2, 1, 1)))


def test_refuses_questions_in_a_wrong_order(box):
    """What is asked of a system needs that system, and one that belongs to the links that touch now."""
    links = _core.Links([CoulombLaw(box).native] * 2, [box.hull] * 2)
    upright = np.tile(np.eye(3), (2, 1, 1))
    one, both = np.array([[0, 0, 0.19], [1, 0, 5.0]]), np.array([[0, 0, 0.19], [1, 0, 0.19]])
    W = np.eye(6)

    def refused():
        for count in (0, 6, 12):
            for ask in (links.ask, lambda p: links.accept(p, 1, True)):
                with pytest.raises(ValueError, match="Call begin or solve first"):
                    ask(np.zeros(count))

    refused()
    assert links.touch(one, upright).tolist() == [0]
    refused()
    begun: Any = links.begin(np.array([0, 0, -1.0, 0, 0, 0]), W)
    assert np.shape(begun) == links.ask(np.zeros(6)).shape == (6,)
    links.accept(links.ask(np.zeros(6)), 1, True)
    assert links.touch(both, upright).tolist() == [0, 1]
    refused()
    with pytest.raises(ValueError, match="got None"):
        _core.Links([None], [box.hull])  # type: ignore[list-item]
