"""Next-utterance choice: people less a model on the same questions."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, roots_hermitenorm

from seedvote.analysis.questions.choice.answer import people_less_model
from tests.analysis.claims.registry import Claim, each
from tests.analysis.worlds import grid


@dataclass(frozen=True)
class Quiz:
    """Raters and a model under several seeds pick replies to the same questions, four of each dialogue."""

    raters: int = 20
    questions: int = 200
    answers_each: int = 3
    seeds: int = 3
    sd_seed: float = 0.25
    ease: float = 0.8  # of people, on the logit scale; a model's is 0
    sd_dialogue: float = 0.6
    sd_question: float = 0.8
    sd_rater: float = 0.7
    sd_model: float = 0.5

    @property
    def truth(self) -> float:
        """People's share of hits less the model's, over everything that is drawn."""
        shared = self.sd_dialogue**2 + self.sd_question**2
        people = mean_of_logistic(self.ease, shared + self.sd_rater**2)
        return people - mean_of_logistic(0.0, 0.49 * shared + self.sd_model**2 + self.sd_seed**2)

    def holds(self, generator: np.random.Generator) -> bool:
        """Whether one study's interval holds the truth."""
        draw = generator.standard_normal
        dialogue = np.arange(self.questions) // 4
        difficulty = self.sd_question * draw(self.questions) + self.sd_dialogue * draw(self.questions // 4)[dialogue]
        question = np.repeat(np.arange(self.questions), self.answers_each)
        rater = np.argsort(generator.random((self.questions, self.raters)), 1)[:, : self.answers_each].ravel()
        skill = self.sd_rater * draw(self.raters)
        hits = generator.random(len(question)) < expit(self.ease + difficulty[question] + skill[rater])
        own = 0.7 * difficulty + self.sd_model * draw(self.questions) + self.sd_seed * draw((self.seeds, 1))
        model = generator.random((self.seeds, self.questions)) < expit(own)
        ways = {"dialogue": dialogue[question], "rater": rater}
        answer = people_less_model(hits * 1.0, model[:, question] * 1.0, ways, dialogue[question])
        return answer is not None and answer.low <= self.truth <= answer.high


def mean_of_logistic(middle: float, variance: float) -> float:
    """The mean of a logistic function of a normal variable."""
    points, weights = roots_hermitenorm(60)
    return float(weights @ expit(middle + np.sqrt(variance) * points) / weights.sum())


WORLDS = {
    **grid(Quiz(), raters=(8, 20, 60), seeds=(2, 3, 10), sd_seed=(0.0, 0.25, 1.0)),
    **grid(Quiz(questions=80), "80 questions", raters=(8, 20), seeds=(2, 3, 5), sd_seed=(0.25, 1.0)),
    **grid(Quiz(sd_seed=0.0), "one seed, which stands for itself", raters=(8, 60), seeds=(1,)),
}
CLAIMS = (
    Claim(
        "choice: people less a model",
        "the 95 % interval of people's share of hits less a model's holds it, for new raters, dialogues and seeds",
        {"questions.choice.answer.PeopleLessModel": "low high p"}, WORLDS, each(Quiz.holds), 0.95, 0.93, studies=500,
    ),
)  # fmt: skip
