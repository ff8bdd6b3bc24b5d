"""Which checkpoints a study has."""

from seedvote.generation.checkpoints import find_trained, named_checkpoints


def test_all_checkpoints_are_those_of_every_model(tmp_path):
    for model, more in (("hred-0", ("epoch-1", "epoch-2")), ("hred-1", ("epoch-1", "resume"))):
        folder = tmp_path / "models" / model
        folder.mkdir(parents=True)
        for name in ("config.json", *(f"{one}.safetensors" for one in ("untrained", "last", "resume", *more))):
            (folder / name).touch()
    models = find_trained(tmp_path)
    assert named_checkpoints(models, "all") == ["epoch-1", "last", "untrained"]
    assert named_checkpoints(models, "last,best_bleu") == ["last", "best_bleu"]
