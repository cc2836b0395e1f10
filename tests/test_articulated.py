"""Algorithm 2: its equation against the paper's joint-force equation, and what it does with any law."""

import numpy as np
import pytest
from scipy.optimize import root
from stiction.articulated import Solution, solve_modes
from stiction.balancing import ask_at
from stiction.links import Links
from stiction.powell import compiled_handler, solve_powell
from stiction.searching import new_search

from multibody import H, hinged_box
from stiction import AugmentedLaw, Body, CoulombLaw, InputError, Mode
from stiction.laws.statistical import StatisticalLaw
from stiction.simulation.rollout import rollout

BOX = Body.box((0.5, 0.1, 0.08), 1.0)
LAW = CoulombLaw(BOX, 0.5, cone="round", softness=0.0)
STATES = 200  # in contact, of each sort


def solved_by(how, law, contacts, V_free, L, *tolerance):
    """The Solution of Algorithm 2."""
    search = new_search(len(contacts.record))
    evaluations, solved = how(law, contacts, V_free, L, *tolerance, search)
    return Solution(search.p.reshape(-1, 6), search.mode, search.outside, evaluations, solved)


def joint_force_equation(system):
    """A, c and V1(f_j) of the paper's equations 6 and following: nothing here knows of L."""
    W, W_up = np.linalg.inv(system.M), np.linalg.inv(system.M_up)
    J, J_up = system.J, system.J_up
    A = H * J @ W @ J.T + H * J_up @ W_up @ J_up.T
    c = J @ system.twist + H * J @ W @ system.tau - (J_up @ system.dq_up + H * J_up @ W_up @ system.tau_up)

    def V1(f):  # noqa: N802
        return system.twist + H * W @ (system.tau + J.T @ f)

    return A, c, V1, J @ W


@pytest.mark.parametrize("planar", [True, False])
def test_equals_joint_force_form(planar):
    """With the joint force that belongs to our p, the paper's G is zero and its V1 is ours."""
    rng = np.random.default_rng(10 + planar)
    asked = contact = unsolved = mirrored = 0
    worst = 0.0
    while contact < STATES:
        system = hinged_box(BOX, rng, planar)
        V_free, L = system.whole()
        solution = solved_by(solve_modes, LAW.compiled, system.contacts, V_free, L, 1e-12)
        p = solution.impulse[0]
        A, c, V1, JW = joint_force_equation(system)
        f = -np.linalg.solve(A, c + JW @ p)
        after = V1(f) + np.linalg.solve(system.M, p)
        size = np.abs(V_free).max()
        assert np.abs(after - (V_free + L @ p)).max() < 1e-8 * size  # whatever p is
        if solution.mode[0] == Mode.DETACH or not solution.solved:
            unsolved += not solution.solved
            continue
        system.contacts.record.velocity[0] = V1(f)
        compiled_handler(LAW.compiled, system.contacts)
        answer = system.contacts.record.impulse[0].copy()
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
    same = tried = 0
    for _ in range(40):
        system = hinged_box(BOX, rng, False)
        V_free, L = system.whole()
        solution = solved_by(solve_modes, LAW.compiled, system.contacts, V_free, L, 1e-12)
        if solution.mode[0] == Mode.DETACH:
            continue
        A, c, V1, JW = joint_force_equation(system)

        def impulse(f, V1=V1, contacts=system.contacts):
            contacts.record.velocity[0] = V1(f)
            compiled_handler(LAW.compiled, contacts)
            return contacts.record.impulse[0].copy()

        W_up = np.linalg.inv(system.M_up)
        up = system.J_up @ (system.dq_up + H * W_up @ system.tau_up)
        guess = np.linalg.pinv(H * system.J_up @ W_up @ system.J_up.T) @ up
        found = root(lambda f, A=A, c=c, JW=JW, impulse=impulse: A @ f + JW @ impulse(f) + c, guess, method="hybr")
        residual = A @ found.x + JW @ impulse(found.x) + c
        tried += 1
        if np.abs(residual).max() < 1e-9 * np.abs(V_free).max():
            same += np.abs(impulse(found.x) - solution.impulse[0]).max() < 1e-6 * np.abs(solution.impulse).max()
    assert tried > 10
    assert same > 0.7 * tried  # Powell's method does not always arrive, and may find another solution


def test_powell_option_is_close():
    """The option "powell" solves to 0.5 %, and says so by its residual."""
    rng = np.random.default_rng(6)
    solved = close = evaluations = 0
    for _ in range(60):
        system = hinged_box(BOX, rng, False)
        V_free, L = system.whole()
        ours = solved_by(solve_modes, LAW.compiled, system.contacts, V_free, L, 1e-9)
        powell = solved_by(solve_powell, LAW.compiled, system.contacts, V_free, L)
        if powell.solved and ours.solved and ours.evaluations:
            solved += 1
            evaluations += powell.evaluations
            close += np.abs(powell.impulse - ours.impulse).max() < 0.05 * np.abs(ours.impulse).max()
    assert solved > 20
    assert close > 0.9 * solved
    assert evaluations > 5 * solved


def test_any_weights_are_safe():
    """Random networks neither pull nor sink nor add energy to the system."""
    rng = np.random.default_rng(7)
    law = AugmentedLaw.untrained(BOX, seed=3)
    for k in range(150):
        system = hinged_box(BOX, rng, bool(k % 2))
        V_free, L = system.whole()
        solution = solved_by(solve_modes, law.compiled, system.contacts, V_free, L, 1e-6)
        p = solution.impulse[0]
        after = V_free + L @ p
        size = np.abs(V_free).max()
        assert p[2] >= 0
        assert p @ (V_free + L @ p / 2) <= 1e-9 * max(1e-12, np.abs(p * V_free).sum())
        ask_at(system.contacts, V_free, L, p)
        system.contacts.record.velocity[0] = after
        from stiction.lcp import lowest_separation

        assert lowest_separation(system.contacts, 0, after) > -1e-7 * size


def test_free_link_is_algorithm_1(box):
    """For a link on its own, L is M_b^-1 and V1 is V_free: Algorithm 2 is Algorithm 1."""
    from contact_states import random_contacts

    law = CoulombLaw(box, 0.6, cone="round", softness=0.0)
    contacts = random_contacts(box, 200, np.random.default_rng(8))
    compiled_handler(law.compiled, contacts)
    wanted, modes = contacts.record.impulse.copy(), contacts.record.mode.copy()
    for i in range(200):
        one = type(contacts)(contacts.record[i : i + 1], *contacts[1:])  # type: ignore[arg-type]
        V, L = one.record.velocity[0].copy(), one.record.inverse_inertia[0].copy()
        solution = solved_by(solve_modes, law.compiled, one, V, L, 1e-9)
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
        W = links.contacts.record.inverse_inertia.copy()
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


def test_refuses_law_without_modes(box):
    with pytest.raises(InputError, match="whole impulses"):
        Links([StatisticalLaw.untrained(box)])  # type: ignore[list-item]
    with pytest.raises(InputError, match="method"):
        Links([CoulombLaw(box)], method="newton")
    assert callable(rollout)
