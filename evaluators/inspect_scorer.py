"""An extension of inspect_ai: our judge as a scorer of pairs, under the name `seedvote/judge`.

inspect_ai finds it by the entry point `inspect_ai` of this package and imports it; nothing of ours does. The model's
output is compared with another response to the same messages, in both orders. The score is 1 where the output is
preferred, 0 where the other one is and .5 for a tie, as the mean over orders. The log keeps every verdict, which
`python -m evaluators judge STUDY --replies LOG --from inspect` reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, GenerateConfig, Model, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from seedvote.dialogue.engines.chat import Reply
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Candidate, Order, Pair, Utterance
from seedvote.evaluators.judging.asking import (
    LONG,
    QUESTION,
    SHORT,
    AnswerForm,
    Prompt,
    label_scores,
    prompt_about,
    read_rubric,
    ruling_on,
)

ORDERS: tuple[Order, Order] = ("ab", "ba")
WORTH = {"a": 1.0, "b": 0.0, "tie": 0.5}


@scorer(metrics=[mean(), stderr()], name="judge")  # type: ignore[untyped-decorator]  # where inspect_ai is absent
def judge(
    model: str | Model | None = None,
    *,
    against: str = "target",
    question: str = QUESTION,
    answer: AnswerForm = "reasons",
    rubric: str | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
) -> Scorer:
    """Which of two responses a model prefers, asked in both orders.

    `against` names the field of a sample's metadata that holds the other response; `target` is the sample's target.
    `answer` and `rubric` are those of `python -m evaluators judge`; `model` is the role `grader` by default.
    """
    form: AnswerForm = "rubric" if rubric is not None else answer
    prompt = prompt_about(question, form, None if rubric is None else read_rubric(Path(rubric)))
    longest = max_tokens or (SHORT if form == "letter" else LONG)

    async def score(state: TaskState, target: Target) -> Score:
        grader = get_model(model, role="grader") if model is None else get_model(model)
        pair = _pair_of(state, target, against)
        verdicts = [await _ask(grader, prompt, pair, order, longest, seed) for order in ORDERS]
        usable = [WORTH[verdict["choice"]] for verdict in verdicts if verdict["choice"] in WORTH]
        note = {
            "judge": str(grader),
            "prompt": prompt.hash,
            "context": pair.context[-1].text if pair.context else "",
            "response": pair.a.text,
            "other": pair.b.text,
            "verdicts": verdicts,
        }
        told = {"answer": pair.a.text, "explanation": verdicts[0]["reply"], "metadata": {"seedvote": note}}
        if not usable:
            return Score.unscored(reason="no reply held a verdict", **told)
        return Score(value=sum(usable) / len(usable), **told)

    return score


def _pair_of(state: TaskState, target: Target, against: str) -> Pair:
    """The output and the other response, with the messages before the output."""
    other = target.text if against == "target" else (state.metadata or {}).get(against)
    if not isinstance(other, str) or not other.strip():
        raise InputError(f"Sample {state.sample_id}: {against} holds no other response to compare with.")
    messages = [message for message in state.messages if not isinstance(message, ChatMessageSystem)]
    while messages and isinstance(messages[-1], ChatMessageAssistant):
        messages.pop()
    context = [Utterance(message.role, message.text) for message in messages]
    sides = Candidate(state.output.completion, str(state.model)), Candidate(other, against)
    return Pair(str(state.sample_id), str(state.sample_id), context, *sides)


async def _ask(grader: Model, prompt: Prompt, pair: Pair, order: Order, longest: int, seed: int) -> dict[str, Any]:
    """One verdict; a reply that says nothing is asked for once more."""
    config = GenerateConfig(temperature=0.0, max_tokens=longest)
    text, reply, usage = prompt.ask(pair, order, seed, 0), "", [0, 0]
    for _ in range(2):
        output = await grader.generate(text, config=config)
        reply = Reply(output.completion, None, None, None, "").spoken
        if output.usage is not None:
            usage = [usage[0] + output.usage.input_tokens, usage[1] + output.usage.output_tokens]
        if prompt.read(reply) != "unusable" or output.stop_reason == "max_tokens":
            break
    return {
        "order": order,
        "choice": ruling_on(prompt.read(reply), order),
        "reply": reply,
        "tokens_in": usage[0],
        "tokens_out": usage[1],
        **label_scores(reply, order, prompt),
    }
