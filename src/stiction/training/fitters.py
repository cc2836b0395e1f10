"""Training of one network with torch: Adam, warm-up, cosine decay, the best state on held-out throws."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from stiction.basics.files import whole_file
from stiction.laws.approximators import FARTHEST, Approximator, Network, from_arrays

_CHECK = 500  # steps between looks at the held-out loss


@dataclass(frozen=True)
class FitOptions:
    """How a network is trained.

    hidden: units of the hidden layers; empty: the size that suits each kind of patch
    steps: optimiser steps; with `seconds` the schedule follows the clock instead, and the result depends on the machine
    patience: looks without a better held-out loss after which training stops
    floor: errors of a regressor below this count little, in shares of the normal impulse
    """

    hidden: tuple[int, ...] = ()
    steps: int = 8000
    seconds: float | None = None
    batch: int = 1024
    rate: float = 3e-3
    patience: int = 12
    floor: float = 1e-3
    seed: int = 0


def fit_classifier(x, label, held, options: FitOptions, progress: Callable[[float], None]) -> Network:
    """A network with three scores; label: 0 static, 1 dynamic, 2 detach, shape (n,); held: held-out rows, (n,)."""
    target = torch.as_tensor(np.asarray(label), dtype=torch.long)

    def loss(output, rows):
        return torch.nn.functional.cross_entropy(output, target[rows])

    with _one_thread():
        return _fit(x, held, 3, loss, options, progress)


def fit_regressor(x, y, load, held, options: FitOptions, progress: Callable[[float], None]) -> Network:
    """A network for y (n, k), each example weighted by the square root of its load (n,)."""
    target = torch.as_tensor(np.asarray(y), dtype=torch.float32)
    weight = torch.as_tensor(np.sqrt(load / load.mean()), dtype=torch.float32)

    def loss(output, rows):
        return _nearly_size(output - target[rows], weight[rows], options.floor)

    with _one_thread():
        return _fit(x, held, target.shape[1], loss, options, progress)


def _nearly_size(error, weight, floor):
    """Nearly the mean size of the error, not its square: many easy contacts must not be ruled by a few odd ones."""
    return (weight * torch.sqrt((error**2).sum(dim=1) + floor**2)).mean()


def loss_of(network: Network, x, y, load) -> float:
    """The loss of a trained regressor on other examples."""
    value = np.clip((x - network.mean) / network.scale, -FARTHEST, FARTHEST)
    for k, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        value = (np.maximum(value, 0) if k else value) @ weight + bias
    weight = torch.as_tensor(np.sqrt(load / load.mean()))
    return float(_nearly_size(torch.as_tensor(value - y), weight, FitOptions.floor))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Networks this small train fastest on one thread, and to the same bits on any number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _fit(x, held, outputs: int, loss, options: FitOptions, progress) -> Network:
    mean = x[~held].mean(axis=0)
    scale = x[~held].std(axis=0) + 1e-6
    inputs = torch.as_tensor(np.clip((x - mean) / scale, -FARTHEST, FARTHEST), dtype=torch.float32)
    training, checking = (torch.as_tensor(np.flatnonzero(rows)) for rows in (~held, held))
    generator = torch.Generator().manual_seed(options.seed)
    model = _model([x.shape[1], *options.hidden, outputs], generator)
    optimiser = torch.optim.Adam(model.parameters(), lr=options.rate)
    best, best_state, waited = np.inf, None, 0
    begin, step, done = time.monotonic(), 0, 0.0
    while done < 1.0 and waited < options.patience:
        if options.seconds is None:
            done = step / options.steps
        else:
            done = (time.monotonic() - begin) / options.seconds
        for group in optimiser.param_groups:
            group["lr"] = options.rate * min(1.0, (step + 1) / 200) * 0.5 * (1 + np.cos(np.pi * min(done, 1.0))) + 1e-7
        rows = training[torch.randint(len(training), (options.batch,), generator=generator)]
        optimiser.zero_grad()
        loss(model(inputs[rows]), rows).backward()
        optimiser.step()
        step += 1
        if step % _CHECK == 0 or done >= 1.0:
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
        linears[-1].weight.mul_(0.1)  # begin close to the guess
    layers = [layer for linear in linears for layer in (linear, torch.nn.ReLU())]
    return torch.nn.Sequential(*layers[:-1])


# What a training has finished so far, on disk: a killed training goes on from there.


class Checkpoint:
    """Finished approximators of one training, by name.

    path: file beside the model file that will be written
    training: everything that decides the result; a file of another training is ignored and overwritten
    """

    def __init__(self, path: Path, training: dict[str, Any]) -> None:
        self._path = path
        self._key = hashlib.sha256(json.dumps(training, sort_keys=True).encode()).hexdigest()
        self._arrays = self._read()

    def _read(self) -> dict[str, np.ndarray]:
        try:
            with safe_open(self._path, framework="numpy") as file:
                if (file.metadata() or {}).get("training") != self._key:
                    return {}
                return {key: file.get_tensor(key) for key in file.keys()}
        except (OSError, SafetensorError, ValueError):  # none yet, or one that was cut off
            return {}

    def get(self, name: str) -> Approximator | None:
        """The approximator `name`, if it was finished."""
        arrays = {key.removeprefix(f"{name}."): a for key, a in self._arrays.items() if key.startswith(f"{name}.")}
        return from_arrays(arrays) if arrays else None

    def put(self, name: str, approximator: Approximator) -> None:
        """Keep a finished approximator."""
        self._arrays |= {f"{name}.{key}": np.ascontiguousarray(a) for key, a in approximator.arrays().items()}
        with whole_file(self._path) as temporary:
            save_file(self._arrays, temporary, {"training": self._key})

    def __len__(self) -> int:
        """Number of finished approximators."""
        return len({key.rpartition(".")[0] for key in self._arrays})

    def remove(self) -> None:
        """The training is finished: nothing is left to go on with."""
        self._path.unlink(missing_ok=True)
