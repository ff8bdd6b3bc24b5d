"""How raw states become features: centred, divided by their SD, rotated to the principal axes of the training states.

The rotation changes no objective that penalises |w|^2, and makes its Hessian nearly diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Features:
    """The map from states to features, with the variance of each (all d of them, smallest first)."""

    mean: Tensor
    rotation: Tensor
    variance: Tensor

    def apply(self, states: np.ndarray) -> Tensor:
        """The features (n x (d + 1)); the last column is one, for the intercept."""
        centred = _tensor(states, self.mean.device) - self.mean
        return torch.cat([centred @ self.rotation, torch.ones(len(centred), 1, device=centred.device)], 1)


def fit_features(states: np.ndarray, *, device: str = "cpu") -> Features:
    """Mean, SD and principal axes of the training states; a feature that does not vary counts for nothing."""
    raw = _tensor(states, torch.device(device))
    mean = raw.mean(0, dtype=torch.float64)
    centred = raw - mean.float()
    deviation = centred.square().mean(0, dtype=torch.float64).sqrt()
    shrink = torch.where(deviation > 1e-6 * mean.abs(), 1 / deviation, 0.0).float()
    scaled = centred * shrink
    variance, axes = torch.linalg.eigh((scaled.T @ scaled).double() / len(raw))
    return Features(mean.float(), shrink[:, None] * axes.float(), variance.clamp_min(0).float())


def _tensor(states: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(np.array(states, np.float32)).to(device)
