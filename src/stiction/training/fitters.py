"""Training of one network with torch: Adam, warm-up, cosine decay, the best state on held-out throws."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import torch

from stiction.laws.approximators import FARTHEST, Network
from stiction.training.settings import FitOptions


@contextmanager
def _one_thread() -> Iterator[None]:
    """Small networks train fastest on one thread, and to the same bits on any number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def fit_classifier(x, label, held, options: FitOptions, progress: Callable[[float], None]) -> Network:
    """A network with three scores; label: 0 static, 1 dynamic, 2 detach, shape (n,); held: held-out rows, (n,)."""
    target = torch.as_tensor(np.asarray(label), dtype=torch.long)

    def loss(output, rows):
        return torch.nn.functional.cross_entropy(output, target[rows])

    return _fit(x, held, 3, loss, options, progress)


def fit_regressor(x, y, load, held, options: FitOptions, progress: Callable[[float], None]) -> Network:
    """A network for y (n, k), each example weighted by the square root of its load (n,)."""
    target = torch.as_tensor(np.asarray(y), dtype=torch.float32)
    weight = torch.as_tensor(np.sqrt(load / load.mean()), dtype=torch.float32)

    def loss(output, rows):
        return _smooth_size(output - target[rows], weight[rows], options.floor)

    return _fit(x, held, target.shape[1], loss, options, progress)


def _smooth_size(error, weight, floor):
    """A smooth mean size of the error, not of its square: a few outliers must not dominate many easy contacts."""
    return (weight * torch.sqrt((error**2).sum(dim=1) + floor**2)).mean()


def loss_of(network: Network, x, y, load) -> float:
    """The loss of a trained regressor on other examples."""
    weight = torch.as_tensor(np.sqrt(load / load.mean()))
    return float(_smooth_size(torch.as_tensor(network.in_double(x) - y), weight, FitOptions.floor))


@_one_thread()
def _fit(x, held, outputs: int, loss, options: FitOptions, progress) -> Network:
    mean = x[~held].mean(axis=0)
    scale = x[~held].std(axis=0) + 1e-6
    inputs = torch.as_tensor(np.clip((x - mean) / scale, -FARTHEST, FARTHEST), dtype=torch.float32)
    training, checking = (torch.as_tensor(np.flatnonzero(rows)) for rows in (~held, held))
    generator = torch.Generator().manual_seed(options.seed)
    model = _model([x.shape[1], *options.hidden, outputs], generator)
    optimiser = torch.optim.Adam(model.parameters(), lr=options.rate)
    best, best_state, waited = np.inf, None, 0
    start, step, done = time.monotonic(), 0, 0.0
    while done < 1.0 and waited < options.patience:
        if options.seconds is None:
            done = step / options.steps
        else:
            done = (time.monotonic() - start) / options.seconds
        for group in optimiser.param_groups:
            group["lr"] = options.rate * min(1.0, (step + 1) / 200) * 0.5 * (1 + np.cos(np.pi * min(done, 1.0))) + 1e-7
        rows = training[torch.randint(len(training), (options.batch,), generator=generator)]
        optimiser.zero_grad()
        loss(model(inputs[rows]), rows).backward()
        optimiser.step()
        step += 1
        if step % 500 == 0 or done >= 1.0:
            with torch.no_grad():
                now = float(loss(model(inputs[checking]), checking))
            waited += 1
            if now < best:
                best, waited = now, 0
                best_state = [parameter.detach().clone() for parameter in model.parameters()]
            progress(min(done, 1.0))
    progress(1.0)
    parameters = [p.numpy() for p in (best_state or [q.detach() for q in model.parameters()])]
    weights = tuple(np.ascontiguousarray(w.T) for w in parameters[::2])
    return Network(mean.astype(np.float32), scale.astype(np.float32), weights, tuple(parameters[1::2]))


def _model(sizes: list[int], generator: torch.Generator) -> torch.nn.Sequential:
    linears = [torch.nn.Linear(a, b) for a, b in pairwise(sizes)]
    with torch.no_grad():
        for linear in linears:
            linear.weight.normal_(0, float(np.sqrt(2 / linear.in_features)), generator=generator)
            linear.bias.zero_()
        linears[-1].weight.mul_(0.1)  # start close to the guess
    layers = [layer for linear in linears for layer in (linear, torch.nn.ReLU())]
    return torch.nn.Sequential(*layers[:-1])
