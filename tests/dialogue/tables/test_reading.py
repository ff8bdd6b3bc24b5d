"""A file in parts has the rows and places that it has as a whole, in every dialect, encoding and format."""

import gzip
import json

import pandas as pd
import pytest

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.tables import reading
from seedvote.dialogue.tables.reading import read_table, table_batches

ROWS = [
    {"model": f"m{n % 3}", "item": f"d{n}:1", "text": 'schön, "ja"\nnein', "score": f"{n / 7:.3f}"} for n in range(23)
]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(reading, "ROWS", 5)


def delimited(delimiter=",", **how):
    return pd.DataFrame(ROWS).to_csv(index=False, sep=delimiter, **how)


def joined(path):
    """Every row with its place, and how many parts there were."""
    parts = list(table_batches(path))
    return [row for part in parts for row in part.rows()], len(parts)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimited_text_in_any_dialect(tmp_path, encoding, delimiter):
    path = tmp_path / "scores.csv"
    path.write_bytes(delimited(delimiter).encode(encoding))
    rows, parts = joined(path)
    assert rows == [*read_table(path).rows()] and len(rows) == 23 and parts == 5


@pytest.mark.parametrize("text", [
    "sep=;\r\n" + delimited(";", lineterminator="\r\n"), delimited().replace("\nm", "\n\nm"),
    delimited() + delimited(), "".join(json.dumps(row) + "\n\n" for row in ROWS), json.dumps(ROWS),
    '{"format": "scores", "version": 1}\n' + "".join(json.dumps(row) + "\n" for row in ROWS),
])  # fmt: skip
def test_blank_lines_repeated_headers_and_json(tmp_path, text):
    path = tmp_path / "scores.txt"
    path.write_text(text, newline="")
    assert joined(path)[0] == [*read_table(path).rows()]


def test_packed_text_excel_and_parquet(tmp_path):
    frame = pd.DataFrame(ROWS)
    (tmp_path / "scores.csv.gz").write_bytes(gzip.compress(delimited().encode()))
    frame.to_excel(tmp_path / "scores.xlsx", index=False)
    frame.to_parquet(tmp_path / "scores.parquet")
    for path in tmp_path.iterdir():
        rows, parts = joined(path)
        assert rows == [*read_table(path).rows()] and parts == 5
    (only,) = {part.names for part in table_batches(tmp_path / "scores.parquet", ["item", "score"])}
    assert only == ("item", "score")


@pytest.mark.parametrize("raw", [
    b"", gzip.compress(delimited().encode())[:-20], b"PAR1xx", delimited().encode() + b"one,two\n",
    delimited().encode() + b'"open', b'{"a": 1}\n{"a": \n', b'{"a": 1}\n[1]\n', b"\xef\xbb\xbfa,b\n1,\xff\xfe\n",
])  # fmt: skip
def test_what_is_wrong_is_said_as_of_the_whole_file(tmp_path, raw):
    path = tmp_path / "scores.csv"
    path.write_bytes(raw)
    with pytest.raises(InputError) as whole:
        read_table(path)
    with pytest.raises(InputError) as parts:
        joined(path)
    assert str(parts.value)[:60] == str(whole.value)[:60]


@pytest.mark.parametrize("size", [1, 2, 7, 1 << 20])
def test_chinese_text_is_read_as_such_wherever_a_part_ends(tmp_path, monkeypatch, size):
    monkeypatch.setattr(reading, "HEAD", size)
    path = tmp_path / "scores.csv"
    path.write_bytes("".join(f"{n},评分高低\n" if n else "model,score\n" for n in range(9)).encode("gb18030"))
    assert joined(path)[0] == [*read_table(path).rows()]
    assert joined(path)[0][0][1]["score"] == "评分高低"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("comment", ["# by our tool\n", "#a, b; c\n\n# of 3\tMay\r\n", '# "quoted\n'])
def test_comments_above_the_header_are_left_out(tmp_path, delimiter, comment):
    plain, path = tmp_path / "plain.csv", tmp_path / "scores.csv"
    plain.write_text(delimited(delimiter))
    path.write_text(comment + delimited(delimiter) + "# end\n")
    table = read_table(path)
    assert [row for _, row in table.rows()] == [row for _, row in read_table(plain).rows()]
    assert "comments above the header left out" in table.notes and "a comment left out" in table.notes
    rows, parts = joined(path)
    assert rows == [*table.rows()] and parts == 5


@pytest.mark.parametrize("text", ["#item,score\na,1\nb,2\n", "# made by us\n#item,score\na,1\nb,2\n"])
def test_a_header_that_begins_with_a_sign_is_no_comment(tmp_path, text):
    (tmp_path / "scores.csv").write_text(text)
    assert read_table(tmp_path / "scores.csv").names == ("#item", "score")


@pytest.mark.parametrize("text", ["[" * 5000 + "]" * 5000, '{"a":1}\n' + '{"a":' * 5000 + "1" + "}" * 5000 + "\n"])
def test_json_nested_too_deep_is_a_sentence(tmp_path, text):
    (tmp_path / "rows.jsonl").write_text(text)
    for read in (read_table, joined):
        with pytest.raises(InputError, match=r"nested too deep|not a JSON object"):
            read(tmp_path / "rows.jsonl")
