"""Pairs of the tests that show more than words, with files that browsers can show and play."""

import io
import math
import struct
import wave

from PIL import Image

from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Part, Utterance

CALL = Part("tool_call", name="find_hotel", arguments='{"area": "north"}')


def picture(color, size=(320, 200)):
    """A PNG of one colour."""
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, "PNG")
    return file.getvalue()


def tone(hertz, seconds=0.6):
    """A WAV file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        steps = range(int(8000 * seconds))
        sound.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(math.tau * hertz * k / 8000))) for k in steps))
    return file.getvalue()


def make_media_study(folder, real=1):
    """A study whose pairs show two pictures after a picture, two recordings, and two calls of a tool."""
    for system, hertz in (("gpt", 440), ("ours", 660)):
        (folder / system).mkdir(parents=True, exist_ok=True)
        (folder / system / "1.png").write_bytes(picture("red" if system == "gpt" else "blue"))
        (folder / system / "1.wav").write_bytes(tone(hertz))
    (folder / "said.vtt").write_text(
        "WEBVTT\n\n00:00.000 --> 00:00.600\n<v Ann>Hello <i>there</i>.\n", encoding="utf-8"
    )
    asked = Utterance("user", "What is this?", (Part("text", "What is this?"), Part("image", file="gpt/1.png")))

    def side(system, kind):
        parts = {
            "image": (
                Part("text", "A **flag**."),
                Part("image", file=f"{system}/1.png", alt="a flag", caption="A flag"),
            ),
            "audio": (Part("audio", file=f"{system}/1.wav", captions="said.vtt"),),
            "tool": (CALL, Part("tool_result", "[]\u202e"), Part("text", f"Nothing, says {system}.")),
        }[kind]
        return Candidate(f"{kind} of {system}", system, 0, parts=parts)

    pairs = [
        Pair(f"{kind}{k}", f"d{k}:1", (asked,), side("gpt", kind), side("ours", kind), dialogue=f"d{k}")
        for k in range(real)
        for kind in ("image", "audio", "tool")
    ]
    write_records(folder / "pairs.jsonl", pairs, signature="test", kind=Pair)
    return pairs
