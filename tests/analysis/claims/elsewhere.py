"""Fields of the analysis without a row: a test of their own draws their studies, or they promise nothing new."""

SIMULATED = {  # class and fields -> the test that draws studies whose truth is known, below tests/analysis
    "questions.choice.answer.ShareCell: low high": "questions/choice/test_answer.py::test_the_intervals_hold",
    "questions.comparison.answer.ChoosingPeople: low high": "questions/choice/test_answer.py::test_the_intervals_hold",
    "questions.comparison.answer.Generalisability: low high":
        "stats/test_reruns.py::test_what_is_printed_of_seeds_covers",
    "questions.planning.stopping.Bet: e low high": "stats/test_sequential.py::test_the_betting_interval_covers_at_all",
    "questions.preference.models.Credible: low high":
        "stats/paired/test_bayes_davidson.py::test_coverage_with_five_to_ten",
    "questions.discriminators.Estimate: low high": "../evaluators/detection/test_answer.py::test_in_forty_studies",
    "stats.between_raters.overlap.Overlap: low high": "stats/between_raters/test_overlap.py::test_the_interval_covers",
    "stats.components.Component: low high": "stats/test_components.py::test_the_interval_of_the_seed_component_covers",
    "stats.disparity.Disparity: low high p": "questions/choice/test_answer.py::test_the_intervals_hold",
    "stats.gain.Gain: low high correlation_low correlation_high": "questions/test_worth.py::test_the_interval_holds",
    "stats.mixed.Estimate: low high": "stats/test_mixed.py::test_coverage_of_the_share_over_everybody",
    "stats.multibootstrap.Bootstrapped: low high p": "stats/test_multibootstrap.py::test_coverage_of_the_difference",
    "stats.ordinal.ProportionalOdds: low high p": "questions/ratings/test_ratings.py::test_odds_ratio_covers",
    "stats.paired.davidson.Parameter: low high": "stats/paired/test_davidson_errors.py::test_strengths_ties_and_ranks",
    "stats.sequential.Now: e low high": "stats/test_sequential.py::test_a_look_after_every_vote_errs",
    "stats.sequential.Path: e low high": "stats/test_sequential.py::test_a_look_after_every_vote_errs",
}  # fmt: skip

CARRIED = {  # class and fields -> the class whose numbers they are, adjusted by Holm or shown in another place
    "questions.choice.answer.ChoiceRow: p_holm": "stats.disparity.Disparity",
    "questions.agreement.answer.GroupAgreement: p_holm": "stats.disparity.Disparity",
    "questions.comparison.answer.Cost: seeds_low seeds_high": "stats.spread.SeedSpread",
    "questions.comparison.untrained.AboveUntrained: p_here p_anew": "stats.rivals.Margin",
    "questions.comparison.untrained.BaselineAbove: p_here p_anew": "stats.rivals.Margin",
    "questions.compare_runs._Error: low high": "questions.compare_runs.RunContrast",
    "questions.erasure.ErasedTask: p_holm": "stats.mean_over_seeds.SeedMean",
    "questions.patching.PatchedSite: p_holm": "stats.mean_over_seeds.SeedMean",
    "questions.preference.answer.TieShare: low high": "stats.intervals.Interval",
    "votes.ranking.Ranked: rank_low rank_high all_low all_high": "stats.paired.rank_sets.RankSets",
    "questions.preference.answer.GroupPreference: p_holm": "stats.disparity.Disparity",
    "questions.ties.difficulty.TieTrait: p_holm": "stats.disparity.ShareRatio",
    "questions.ratings.scores.RatingDifference: p_holm": "stats.intervals.Interval",
    "questions.robustness.Drop: p_holm": "stats.mean_over_seeds.SeedMean",
    "questions.variance.cubes.ComparedModels: low high p": "stats.multibootstrap.Bootstrapped",
}

NO_CLAIM = {  # class and fields -> why they say nothing of other raters, dialogues or seeds
    "questions.judge.habits.LengthTaste: low high": "describes these verdicts",
    "questions.judge.labelling.Drift: p p_holm unsure_p": "a warning, by an exact test of these pairs",
    "questions.agreement.answer.Habit: low high": "quartiles of these raters",
    "questions.ratings.rankings.Concordance: p": "Friedman's test, given for independent rankings alone",
    "questions.replay.Saving: low high": "the spread over redrawn sets of replays of these very votes",
    "questions.discriminators.DiscriminatedModel: best": "the name of a discriminator",
    "questions.robustness.DoseStep: low high": "two doses",
    "showing.page.Axis: low high": "ends of an axis",
    "showing.plots.PlottedLine: low high": "draws another's interval",
    "stats.between_raters.raters.RaterHabits: left_p": "an exact test of one rater's own votes",
    "stats.between_raters.raters.SplitHalf: low high": "the range over random halves of these votes",
    "stats.powered.Independent: low high": "a published formula, shown to tell what it leaves out",
    "stats.sign_tests.SignTest: p": "an exact test of independent votes, shown under that name",
    "questions.ties.answer.Chance: p_vote": "a test of independent votes, shown under that name",
}
