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
    centred = _tensor(states, torch.device(device))
    mean = centred.mean(0)
    centred -= mean
    mean += (drift := centred.mean(0))  # what single precision left the first time
    covariance = (centred.T @ centred).double() / len(centred) - torch.outer(drift, drift)
    deviation = covariance.diagonal().clamp_min(0).sqrt()
    # A deviation this small is rounding error of the mean; to divide by it would make noise a feature.
    shrink = torch.where(deviation > 1e-6 * mean.abs(), 1 / deviation, 0.0)
    variance, axes = torch.linalg.eigh(covariance * torch.outer(shrink, shrink))
    return Features(mean, (shrink[:, None] * axes).float(), variance.clamp_min(0).float())


def _tensor(states: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(np.array(states, np.float32)).to(device)
