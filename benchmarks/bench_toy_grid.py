"""The whole grid on the built-in corpus: five architectures, three seeds, tiny preset, beside the small preset.

Measured are processor seconds of the command with its workers, start-up, validation and saving included.
Half of them is the time of two cores that do nothing else. The small preset trains one seed only.
Run: python benchmarks/bench_toy_grid.py
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from seedvote.dialogue.corpora.toy.write import write_toy  # noqa: E402 (the checkout is not installed)
from seedvote.dialogue.signature import signature  # noqa: E402

DIALOGUES, EPOCHS, SEEDS, BAR = 500, 4, 3, 120


def processor_seconds():
    """Of all commands that have ended, their workers included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def trained(folder, preset, seeds):
    """Processor seconds of training all architectures."""
    study = Path(folder, preset)
    write_toy(study / "corpus", DIALOGUES, seed=0)
    grid = f"--models all --seeds 0-{seeds - 1} --preset {preset} --epochs {EPOCHS} --jobs 2"
    before = processor_seconds()
    command = [sys.executable, "-m", "generation", "train", str(study), *grid.split()]
    subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
    return processor_seconds() - before


def main():
    """Train both grids and print what they took."""
    with tempfile.TemporaryDirectory() as folder:
        tiny, small = trained(folder, "tiny", SEEDS), trained(folder, "small", 1)
    print(f"tiny, {SEEDS} seeds: {tiny:.0f} processor seconds, {tiny / 2:.0f} on two cores (bar: {BAR})")
    print(f"small: {small:.0f} a seed, {small * SEEDS / tiny:.1f} times as long")
    print(signature(dialogues=DIALOGUES, models=5, seeds=SEEDS, epochs=EPOCHS, jobs=2, threads=1))


if __name__ == "__main__":
    main()
