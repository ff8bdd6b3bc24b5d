"""Tables of judgements as tools and people write them, by the tools' documented shapes; the content is invented.

In all of them alpha beats beta 80 to 20, and whoever stood first, or is called a, is drawn by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

TRUE = {"alpha": 80, "beta": 20}
FLAT, NESTED = ("csv", "tsv", "xlsx", "json", "jsonl", "parquet", "frame"), ("json", "jsonl", "parquet", "frame", "csv")
OTHER = {"alpha": "beta", "beta": "alpha", "a": "b", "b": "a", "left": "right", "right": "left"}


@dataclass(frozen=True)
class Vote:
    """One judgement: who won, which system response a is, and which response stood on the left."""

    n: int
    won: str
    a: str
    left: str

    @property
    def b(self):
        return OTHER[self.a]

    @property
    def response(self):
        return "a" if self.won == self.a else "b"

    @property
    def on_left(self):
        return self.a if self.left == "a" else self.b

    @property
    def on_right(self):
        return OTHER[self.on_left]

    @property
    def place(self):
        return "left" if self.won == self.on_left else "right"

    @property
    def ids(self):
        return {"pair": f"p{self.n % 50}", "rater": f"r{self.n // 5}"}

    @property
    def systems(self):
        return {"model_a": self.a, "model_b": self.b}

    @property
    def texts(self):
        return {"response_a": f"{self.a} says {self.n}", "response_b": f"{self.b} says {self.n}"}


def votes(seed=5):
    random = Random(seed)
    won = ["alpha"] * 80 + ["beta"] * 20
    random.shuffle(won)
    return [Vote(n, name, random.choice(["alpha", "beta"]), random.choice("ab")) for n, name in enumerate(won)]


def table(row):
    return [row(vote) for vote in votes()]


def spoken(words):
    """A plain table with the two systems and these words for a and b."""
    return lambda: table(lambda v: {**v.ids, **v.systems, "choice": words["ab".index(v.response)]})


def placed(**more):
    """A plain table whose answers are places, with further columns."""
    return lambda: table(lambda v: {**v.ids, **v.systems, "choice": v.place, **{k: f(v) for k, f in more.items()}})


def named(a, b, **more):
    """A plain table whose columns of systems have other names."""
    return lambda: table(
        lambda v: {**v.ids, a: v.a, b: v.b, "choice": v.response, **{k: f(v) for k, f in more.items()}}
    )


def renamed(**names):
    return lambda: [{names.get(k, k): cell for k, cell in row.items()} for row in spoken(("a", "b"))()]


def arena(**more):
    return lambda: table(lambda v: {
        "question_id": f"q{v.n}", **v.systems, "winner": f"model_{v.response}", "judge": f"arena_user_{v.n // 5}",
        "turn": 1, "anony": True, "language": "English", "tstamp": 1.68e9 + v.n, **{k: f(v) for k, f in more.items()},
    })  # fmt: skip


def talk(v):
    return [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": f"says {v.n}"}]


def arena_55k():
    return table(lambda v: {
        "id": 1000 + 7 * v.n, **v.systems, "prompt": '["Hi"]', "response_a": f'["{v.a} {v.n}"]',
        "response_b": f'["{v.b} {v.n}"]',
        "winner_model_a": int(v.response == "a"), "winner_model_b": int(v.response == "b"), "winner_tie": 0,
    })  # fmt: skip


def arena_140k():
    return table(lambda v: {
        "id": f"u-{v.n:03}", **v.systems, "winner": f"model_{v.response}", "evaluation_session_id": f"s{v.n}",
        "evaluation_order": 1, "conversation_a": talk(v), "conversation_b": talk(v),
        "conv_metadata": {"sum_assistant_a_tokens": v.n, "sum_assistant_b_tokens": 9}, "language": "en",
        "is_code": False,
    })  # fmt: skip


def mt_bench():
    return table(lambda v: {
        "question_id": 80 + v.n, **v.systems, "winner": f"model_{v.response}", "judge": f"expert_{v.n % 9}",
        "conversation_a": talk(v), "conversation_b": talk(v), "turn": 1,
    })  # fmt: skip


def label_studio():
    return table(lambda v: {
        "id": v.n, "data": {"pair": f"p{v.n % 50}", "model_left": v.on_left, "model_right": v.on_right},
        "annotations": [{"id": 500 + v.n, "completed_by": v.n // 5, "was_cancelled": False, "lead_time": 4.5,
                         "created_at": f"2026-02-01T10:{v.n // 60:02}:{v.n % 60:02}Z",
                         "result": [{"from_name": "better", "to_name": "l,r", "type": "pairwise",
                                     "value": {"selected": v.place}}]}],
    })  # fmt: skip


def label_studio_flat():
    return table(lambda v: {
        "id": v.n, "pair": f"p{v.n % 50}", "model_left": v.on_left, "model_right": v.on_right, "better": v.place,
        "annotator": v.n // 5, "annotation_id": 500 + v.n, "created_at": "2026-02-01T10:00:00Z", "lead_time": 4.5,
    })  # fmt: skip


def mturk(answer):
    return lambda: table(lambda v: {
        "HITId": f"H{v.n}", "AssignmentId": f"A{v.n}", "WorkerId": f"W{v.n // 5}", "AssignmentStatus": "Approved",
        "SubmitTime": f"Mon Nov 16 12:{v.n // 60:02}:{v.n % 60:02} PST 2020", "WorkTimeInSeconds": 12,
        "Input.pair": f"p{v.n % 50}", **answer(v), "Approve": "", "Reject": "",
    })  # fmt: skip


def mturk_left(v):
    return {"Input.left": v.left, "Input.model_a": v.a, "Input.model_b": v.b,
            "Answer.better": {"left": "A", "right": "B"}[v.place]}  # fmt: skip


def mturk_form(v):
    answer = "true" if v.response == "a" else "false"
    other = "false" if v.response == "a" else "true"
    return {"Input.model_a": v.a, "Input.model_b": v.b,
            "Answer.taskAnswers": f'[{{"better":{{"a":{answer},"b":{other}}}}}]'}  # fmt: skip


def argilla():
    return table(lambda v: {
        "id": f"rec-{v.n}", "status": "completed", "_server_id": "x", "fields": {"prompt": "Hi", **v.texts},
        "metadata": v.systems, "suggestions": {}, "vectors": {},
        "responses": {"better": [{"value": f"Response {v.response.upper()}", "user_id": f"u{v.n // 5}"}]},
    })  # fmt: skip


def argilla_of_version_1():
    return table(lambda v: {
        "id": f"rec-{v.n}", "fields": {"prompt": "Hi", **v.texts}, "metadata": v.systems,
        "responses": [{"user_id": f"u{v.n // 5}", "status": "submitted",
                       "values": {"better": {"value": f"Response {v.response.upper()}"}}}],
    })  # fmt: skip


def potato():
    return table(lambda v: {
        "instance_id": f"p{v.n % 50}", "user_id": f"u{v.n // 5}", "model_a": v.a, "model_b": v.b,
        "labels": {"better": {"selection": v.response.upper()}},
    })  # fmt: skip


def potato_flat():
    return table(lambda v: {"instance_id": f"p{v.n % 50}", "user_id": f"u{v.n // 5}", "left_model": v.on_left,
                            "right_model": v.on_right, "better.selection": v.place})  # fmt: skip


def chateval():
    return table(lambda v: {"model_1": v.a, "model_2": v.b, "evaluationdataset_id": 1, "prompt_id": f"q{v.n % 50}",
                            "worker_id": f"W{v.n // 5}", "HIT": f"H{v.n}", "submit_datetime": "2019-01-01 10:00:00",
                            "results_path": "x", "value": int(v.response == "b")})  # fmt: skip


def prodigy():
    return table(lambda v: {
        "text": "Hi", "options": [{"id": v.a, "text": "one"}, {"id": v.b, "text": "other"}], "accept": [v.won],
        "answer": "accept", "_input_hash": 1000 + v.n, "_task_hash": 2000 + v.n, "_session_id": f"db-r{v.n // 5}",
        "_view_id": "choice", "_timestamp": 1.7e9 + v.n,
    })  # fmt: skip


def doccano():
    return table(
        lambda v: {"id": 700 + 3 * v.n, "text": "Which is better?", **v.systems, "label": [v.won], "Comments": []}
    )


def surge():
    return table(lambda v: {"task_id": f"t{v.n}", "worker_id": f"w{v.n // 5}", "model_1": v.a, "model_2": v.b,
                            "Which response is better?": f"Response {'12'['ab'.index(v.response)]}"})  # fmt: skip


def scale():
    return table(lambda v: {
        "task_id": f"t{v.n}", "status": "completed", "metadata": {**v.systems, "batch": "one"},
        "response": {"annotations": {"preference": f"model_{v.response}", "comment": ""}},
    })  # fmt: skip


def openai_comparisons():
    return table(lambda v: {
        "info": {"id": f"post{v.n}", "subreddit": "advice"},
        "summaries": [{"text": f"{v.a} {v.n}", "policy": v.a}, {"text": f"{v.b} {v.n}", "policy": v.b}],
        "choice": "ab".index(v.response), "worker": f"w{v.n // 5}", "batch": "batch3",
    })  # fmt: skip


def webgpt():
    return table(lambda v: {
        "question": {"id": f"q{v.n}", "full_text": "Why?"}, "answer_0": f"{v.a} {v.n}", "answer_1": f"{v.b} {v.n}",
        "score_0": 1.0 if v.response == "a" else -1.0, "score_1": -1.0 if v.response == "a" else 1.0,
        "model_0": v.a, "model_1": v.b,
    })  # fmt: skip


def helpsteer():
    return table(lambda v: {
        "prompt": f"q{v.n}", "response_1": f"{v.a} {v.n}", "response_2": f"{v.b} {v.n}", "model_1": v.a, "model_2": v.b,
        "preference_strength": (-1 if v.response == "a" else 1) * (1 + v.n % 3), "preference_statement": "It is.",
    })  # fmt: skip


def shp():
    return table(lambda v: {
        "post_id": f"x{v.n}", "history": "Hi", "human_ref_A": f"{v.a} {v.n}", "human_ref_B": f"{v.b} {v.n}",
        "labels": int(v.response == "a"), "model_A": v.a, "model_B": v.b,
    })  # fmt: skip


def ultrafeedback():
    return table(lambda v: {"prompt": f"q{v.n}", "chosen": f"{v.won} {v.n}", "rejected": f"{OTHER[v.won]} {v.n}",
                            "chosen_model": v.won, "rejected_model": OTHER[v.won]})  # fmt: skip


def alpaca_eval():
    return table(lambda v: {
        "instruction": f"Do {v.n}", "output_1": f"{v.a} {v.n}", "output_2": f"{v.b} {v.n}", "generator_1": v.a,
        "generator_2": v.b, "annotator": f"person-{v.n // 5}",
        "preference": (1.0 if v.response == "a" else 2.0) + (0.1 if v.response == "a" else -0.1) * (v.n % 3),
    })  # fmt: skip


def toloka():
    return table(lambda v: {
        "INPUT:pair": f"p{v.n % 50}", "INPUT:left_model": v.on_left, "INPUT:right_model": v.on_right,
        "OUTPUT:result": v.place, "ASSIGNMENT:assignment_id": f"a{v.n}", "ASSIGNMENT:worker_id": f"w{v.n // 5}",
        "ASSIGNMENT:status": "APPROVED", "ASSIGNMENT:started": f"2026-01-05T10:{v.n // 60:02}:{v.n % 60:02}",
    })  # fmt: skip


def jspsych():
    first = {"trial_type": "html-button-response", "trial_index": 0, "rt": 900, "stimulus": "Welcome", "response": 0,
             "subject": "s0", "pair": "", "left_model": "", "right_model": ""}  # fmt: skip
    return [first, *table(lambda v: {
        "trial_type": "html-button-response", "trial_index": v.n + 1, "rt": 1200, "stimulus": "Which?",
        "response": int(v.place == "right"), "subject": f"s{v.n // 5}", "pair": f"p{v.n % 50}",
        "left_model": v.on_left, "right_model": v.on_right,
    })]  # fmt: skip


def raters_in_columns():
    rows = []
    for k in range(20):
        part = votes()[5 * k : 5 * k + 5]
        a = part[0].a
        won = ["a" if v.won == a else "b" for v in part]
        rows.append({"item": f"i{k}", "model_a": a, "model_b": OTHER[a],
                     **{f"rater{j + 1}": word for j, word in enumerate(won)}})  # fmt: skip
    return rows


def people_in_columns():
    return [{{"rater1": "Ann", "rater2": "Bob", "rater3": "Cem", "rater4": "Dan", "rater5": "Eva"}.get(k, k): cell
             for k, cell in row.items()} for row in raters_in_columns()]  # fmt: skip


def counts():
    return [{"item": row["item"], "model_a": row["model_a"], "model_b": row["model_b"],
             **{f"wins_{side}": sum(row[f"rater{j}"] == side for j in range(1, 6)) for side in "ab"}, "ties": 0}
            for row in raters_in_columns()]  # fmt: skip


def ranks_by_name():
    return table(lambda v: {"item": f"i{v.n}", "rater": f"r{v.n // 5}", "rank_alpha": 1 + (v.won != "alpha"),
                            "rank_beta": 1 + (v.won != "beta")})  # fmt: skip


def ranks_bare():
    return table(lambda v: {"item": f"i{v.n}", "annotator": f"r{v.n // 5}", "alpha": 1 + (v.won != "alpha"),
                            "beta": 1 + (v.won != "beta")})  # fmt: skip


def survey():
    """One row a person, ten questions; who stood first in each is the same for everybody."""
    won = [vote.won for vote in votes()]
    first = ["alpha" if k % 3 else "beta" for k in range(10)]
    rows = [[f"Response {1 if won[10 * person + k] == first[k] else 2}" for k in range(10)] for person in range(10)]
    return first, rows


def survey_key(name):
    first, _ = survey()
    return [{"column": name.format(k + 1), "pair": f"p{k}", "system_a": first[k], "system_b": OTHER[first[k]]}
            for k in range(10)]  # fmt: skip


def lime_survey():
    _, rows = survey()
    return [{"Response ID": k + 1, "Date submitted": "2026-03-01 10:00:00", "Last page": 3,
             **{f"Q{j + 1}": word for j, word in enumerate(row)}} for k, row in enumerate(rows)]  # fmt: skip


def sosci():
    _, rows = survey()
    return [{"CASE": 100 + k, "SERIAL": "", "QUESTNNR": "base", "STARTED": "2026-03-01",
             **{f"A10{j + 1}" if j < 9 else "A110": word[-1] for j, word in enumerate(row)}}
            for k, row in enumerate(rows)]  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """Its rows, and what a user types: nothing at first, and what the first answer says at the second try."""

    rows: object
    formats: tuple[str, ...] = FLAT
    options: tuple[str, ...] = ()  # typed from the start, since only the user knows it
    key: str = ""  # of a wide table


def with_choice(choice, **more):
    """A plain table with the two systems, this choice, and further columns."""
    return lambda: table(lambda v: {**v.ids, **v.systems, **{k: f(v) for k, f in more.items()}, "choice": choice(v)})


LAYOUTS = {
    "letters": Layout(spoken(("a", "b"))),
    "capitals": Layout(spoken(("A", "B"))),
    "models": Layout(spoken(("model_a", "model_b"))),
    "sentences": Layout(spoken(("A is slightly better", "B is much better"))),
    "response 1": Layout(spoken(("Response 1", "Response 2"))),
    "a>b": Layout(spoken(("A>B", "B>A"))),
    "a>>b": Layout(spoken(("A>>B", "A<B"))),
    "verdict brackets": Layout(spoken(("[[A]]", "[[B]]"))),
    "1 and 2": Layout(spoken((1, 2))),
    "0 and 1": Layout(spoken((0, 1))),
    "minus one": Layout(spoken((-1, 1))),
    "unknown words": Layout(spoken(("ours", "theirs")), options=("--values", "a=ours,b=theirs")),
    "names": Layout(lambda: table(lambda v: {**v.ids, **v.systems, "winner": v.won})),
    "names in capitals": Layout(lambda: table(lambda v: {**v.ids, **v.systems, "winner": v.won.upper() + " "})),
    "short names": Layout(
        lambda: table(lambda v: {**v.ids, "model_a": f"{v.a}-2024-08", "model_b": f"{v.b}-2024-08", "winner": v.won})
    ),
    "names in two cases": Layout(
        lambda: table(lambda v: {**v.ids, "model_a": v.a.title() if v.n % 2 else v.a, "model_b": v.b, "winner": v.won})
    ),
    "places by names": Layout(
        lambda: table(lambda v: {**v.ids, "model_left": v.on_left, "model_right": v.on_right, "choice": v.place})
    ),
    "top and bottom": Layout(
        lambda: table(lambda v: {**v.ids, "top_system": v.on_left, "bottom_system": v.on_right,
                                 "choice": {"left": "Top", "right": "Bottom"}[v.place]})
    ),
    "left and right": Layout(
        lambda: table(lambda v: {"pair": v.ids["pair"], "rater": v.ids["rater"], "left": v.on_left, "right": v.on_right,
                                 "choice": v.place})
    ),
    "left column": Layout(placed(left=lambda v: v.left)),
    "left as a name": Layout(placed(left=lambda v: v.on_left)),
    "left model": Layout(placed(left_model=lambda v: v.on_left)),
    "left model alone": Layout(lambda: table(lambda v: {**v.ids, "left_model": v.on_left, "choice": v.place})),
    "swapped": Layout(placed(swapped=lambda v: v.left == "b")),
    "order": Layout(placed(order=lambda v: {"a": "AB", "b": "BA"}[v.left])),
    "order as a list": Layout(placed(presentation_order=lambda v: [0, 1] if v.left == "a" else [1, 0]), NESTED),
    "position of a": Layout(placed(position_a=lambda v: {"a": "left", "b": "right"}[v.left])),
    "letters as places": Layout(with_choice(lambda v: {"left": "A", "right": "B"}[v.place], left=lambda v: v.left)),
    "letters and left": Layout(with_choice(lambda v: v.response.upper(), left=lambda v: v.left)),
    "modell": Layout(named("Modell_A", "Modell_B")),
    "option": Layout(named("option_1", "option_2")),
    "ours and theirs": Layout(named("ours", "theirs")),
    "system 1": Layout(named("System 1", "System 2")),
    "first system": Layout(named("first_system", "second_system")),
    "assistant": Layout(named("assistantA", "assistantB")),
    "worse": Layout(lambda: table(lambda v: {**v.ids, **v.systems, "worse": OTHER[v.response]})),
    "loser": Layout(lambda: table(lambda v: {**v.ids, **v.systems, "loser": OTHER[v.won]})),
    "winner and loser": Layout(lambda: table(lambda v: {**v.ids, "winner": v.won, "loser": OTHER[v.won]})),
    "capital headers": Layout(renamed(pair="Pair", rater="Rater", choice="Choice", model_a="Model A",
                                      model_b="Model B")),
    "item": Layout(renamed(pair="item")),
    "prompt id": Layout(renamed(pair="prompt_id", rater="worker_id", choice="preference")),
    "number of the row": Layout(lambda: [{"id": n, **{k: c for k, c in row.items() if k != "pair"}}
                                         for n, row in enumerate(spoken(("a", "b"))())]),
    "no pair": Layout(lambda: [{k: c for k, c in row.items() if k not in ("pair", "rater")}
                               for row in spoken(("a", "b"))()]),
    "quoted": Layout(lambda: table(
        lambda v: {**v.ids, **v.systems, **v.texts, "choice": v.texts[f"response_{v.response}"]})),
    "arena": Layout(arena()),
    "arena with conversations": Layout(arena(conversation_a=talk, conversation_b=talk), NESTED),
    "arena 55k": Layout(arena_55k),
    "arena 140k": Layout(arena_140k, NESTED),
    "mt-bench": Layout(mt_bench, NESTED),
    "label studio": Layout(label_studio, ("json",)),
    "label studio csv": Layout(label_studio_flat),
    "mturk": Layout(mturk(lambda v: {"Input.model_a": v.a, "Input.model_b": v.b, "Answer.better": v.response.upper()})),
    "mturk with left": Layout(mturk(mturk_left)),
    "mturk crowd form": Layout(mturk(mturk_form)),
    "argilla": Layout(argilla, ("json", "jsonl", "frame")),
    "argilla of version 1": Layout(argilla_of_version_1, ("json", "jsonl", "frame")),
    "potato": Layout(potato, ("json", "jsonl", "frame")),
    "potato table": Layout(potato_flat),
    "chateval": Layout(chateval),
    "prodigy": Layout(prodigy, ("json", "jsonl", "frame")),
    "doccano": Layout(doccano, NESTED),
    "surge": Layout(surge),
    "scale": Layout(scale, NESTED),
    "openai comparisons": Layout(openai_comparisons, NESTED),
    "webgpt": Layout(webgpt, NESTED),
    "helpsteer": Layout(helpsteer),
    "shp": Layout(shp),
    "chosen and rejected": Layout(ultrafeedback),
    "alpaca eval": Layout(alpaca_eval),
    "toloka": Layout(toloka),
    "jspsych": Layout(jspsych),
    "slider": Layout(with_choice(lambda v: 30 + v.n % 7 if v.response == "a" else 70 + v.n % 5)),
    "likert": Layout(with_choice(lambda v: (-1 if v.response == "a" else 1) * (1 + v.n % 3))),
    "one column a rater": Layout(raters_in_columns),
    "one column a person": Layout(people_in_columns),
    "counts": Layout(counts),
    "ranks": Layout(ranks_by_name),
    "ranks without a prefix": Layout(ranks_bare),
    "rankings": Layout(lambda: table(lambda v: {"item": f"i{v.n}", "ranking": f"{v.won} > {OTHER[v.won]}"})),
    "lists of ranks": Layout(lambda: table(lambda v: {"item": f"i{v.n}", "ranking": [v.won, OTHER[v.won]]}), NESTED),
    "best and worst": Layout(lambda: table(lambda v: {"item": f"i{v.n}", "option_1": v.a, "option_2": v.b,
                                                      "best": v.won, "worst": OTHER[v.won]})),
    "nested": Layout(lambda: table(lambda v: {"meta": {**v.ids, **v.systems}, "answers": [{"choice": v.response}]}),
                     NESTED),
    "names alone": Layout(lambda: table(lambda v: {**v.ids, "winner": v.won})),
    "prefers a": Layout(lambda: table(lambda v: {**v.ids, **v.systems, "prefers_a": v.response == "a"})),
    "preferred and other": Layout(lambda: table(lambda v: {**v.ids, "preferred_model": v.won,
                                                           "other_model": OTHER[v.won]})),
    "lime survey": Layout(lime_survey, key="Q{}"),
    "sosci": Layout(sosci, key="A1{:02}"),
}  # fmt: skip
