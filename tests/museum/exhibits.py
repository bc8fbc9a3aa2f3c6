"""The exhibits of the museum: published privacy bugs of software, where they were reported, and what they broke.

`docs/museum.md` shows them in a table, which `tests/museum/test_page.py` compares with this list. `peers` names the
checks of `bench/museum.py` that run the same attack on other libraries.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXHIBITS", "THEMES", "Exhibit"]


@dataclass(frozen=True)
class Exhibit:
    """A published bug: the test that runs the attack, where it was found, its source, what broke, and why not here."""

    test: str
    system: str
    source: str
    link: str
    broke: str
    here: str
    peer: str = ""


MIRONOV = "Mironov 2012, CCS"
JIN = "Jin, McMurtry, Rubinstein, Ohrimenko 2022"
HANEY = "Haney, Desfontaines, Hartman, Shrestha, Hay 2022"
SUMS = "Casacuberta, Shoemate, Vadhan, Wagaman 2022, CCS"
FIRE = "Haeberlen, Pierce, Narayan 2011, USENIX Security"
RECORD = "Cebere, Erb, Desfontaines, Bellet, Fitzsimons 2026, PETS"
UNDER_FIRE = "https://www.usenix.org/conference/usenix-security-11/differential-privacy-under-fire"
_ARXIV = "https://arxiv.org/abs/"
_GITHUB = "https://github.com/"


def paper(number: str) -> str:
    return _ARXIV + number


def thread(repository: str, number: int, kind: str = "issues") -> tuple[str, str]:
    return f"{repository} #{number}", f"{_GITHUB}{repository}/{kind}/{number}"


FLOATS = (
    Exhibit(
        "test_mironov_low_bits_of_laplace",
        "four systems of 2012",
        MIRONOV,
        "https://doi.org/10.1145/2382196.2382264",
        "The textbook sampler reaches few floats: an output can prove the input.",
        "Noise is a whole number of lattice steps with an exact law.",
    ),
    Exhibit(
        "test_mironov_low_bits_of_laplace",
        "diffprivlib",
        *thread("IBM/differential-privacy-library", 19),
        "The attack of 2012 told 0 from 1 on its Laplace mechanism.",
        "As above.",
    ),
    Exhibit(
        "test_low_bits_of_gaussian_noise",
        "several libraries, DP-SGD",
        JIN,
        paper("2112.05307"),
        "The same for Gaussian noise in floats, and for gradients with it.",
        "As above, for every family.",
        "gaussian",
    ),
    Exhibit(
        "test_precision_attack_on_sums_of_uniform_numbers",
        "several libraries",
        HANEY,
        paper("2207.13793"),
        "The precision of the sum tells the input, however the noise was sampled.",
        "Values and noise are on one lattice, so the precision is constant.",
        "laplace",
    ),
    Exhibit(
        "test_precision_attack_on_four_samples_for_one",
        "diffprivlib",
        *thread("IBM/differential-privacy-library", 94),
        "A defence that adds several samples leaves the precision attack open.",
        "As above.",
    ),
    Exhibit(
        "test_gaussian_noise_of_a_language_library",
        "Presto",
        *thread("prestodb/presto", 23002),
        "Noisy aggregates with the language's own Gaussian generator.",
        "As above.",
    ),
    Exhibit(
        "test_library_laplace_and_gaussian_noisers_of_a_measurement_system",
        "Cross-Media Measurement",
        *thread("world-federation-of-advertisers/cross-media-measurement", 1357),
        "Laplace and Gaussian noise from a library of float distributions.",
        "As above.",
    ),
    Exhibit(
        "test_minus_zero_and_nan_from_a_sampler",
        "OpenDP",
        *thread("opendp/opendp", 346, "pull"),
        "A draw of -0 in a Laplace sampler could make NaN.",
        "A draw is an int64.",
    ),
    Exhibit(
        "test_threshold_that_was_cut_to_a_whole_number",
        "Google DP (Go)",
        *thread("google/differential-privacy", 101, "pull"),
        "A threshold of 37.3 was truncated to 37: delta was larger than stated.",
        "The probability that one person alone is shown is computed on the lattice.",
    ),
)
SUM = (
    Exhibit(
        "test_integer_sum_that_wraps",
        "several libraries",
        SUMS,
        paper("2207.10635"),
        "An integer sum wraps: one person with the value 1 moves it by 2^32 - 1.",
        "Rows become integers inside the engine, which sums them without wrapping.",
        "overflow",
    ),
    Exhibit(
        "test_saturating_sum_whose_order_moves",
        "several libraries",
        SUMS,
        paper("2207.10635"),
        "A saturating sum depends on the order of the rows.",
        "As above; sums saturate after they are complete.",
    ),
    Exhibit(
        "test_rounding_of_float_sums",
        "several libraries",
        SUMS,
        paper("2207.10635"),
        "Float additions lose rows, so sums move by more or less than a row.",
        "Sums of integers are exact.",
        "rounding",
    ),
    Exhibit(
        "test_repeated_rounding_of_float_sums",
        "several libraries",
        SUMS,
        paper("2207.10635"),
        "Every addition rounds in a direction that one row decides.",
        "As above.",
    ),
    Exhibit(
        "test_order_of_float_sums",
        "several libraries",
        SUMS,
        paper("2207.10635"),
        "The same rows in another order have another sum.",
        "Sums of integers agree to the bit in every order.",
    ),
    Exhibit(
        "test_float_sum_that_becomes_infinite",
        "several libraries",
        SUMS,
        paper("2207.10635"),
        "A float sum overflows to infinity or NaN.",
        "Rows are clipped to the bounds first; NaN is a missing value.",
    ),
)
SENSITIVITY = (
    Exhibit(
        "test_clipped_rows_that_were_not_used",
        "SmartNoise Synth",
        *thread("opendp/smartnoise-sdk", 622),
        "The covariance clipped a copy of the data and used the raw rows.",
        "Clipping is a part of the expression that is summed.",
    ),
    Exhibit(
        "test_lower_bound_used_twice",
        "diffprivlib",
        *thread("IBM/differential-privacy-library", 110, "pull"),
        "Linear regression squared the lower bound twice: sensitivity 0 for [0, 100].",
        "A sensitivity of 0 is refused; a fit's moves are within its charge.",
        "regression",
    ),
    Exhibit(
        "test_one_share_of_the_budget_for_centres_of_x_and_y",
        "diffprivlib",
        *thread("IBM/differential-privacy-library", 104),
        "X and y were centred on one share of the budget, without composition.",
        "A payment draws what was charged, once; every draw of a fit is in the charge.",
    ),
    Exhibit(
        "test_range_for_the_size_of_targets",
        "InterpretML DP-EBM",
        *thread("interpretml/interpret", 523),
        "A question: noise for max - min of the targets, where a target itself is larger.",
        "Targets are moved into declared bounds, and the move is charged.",
    ),
    Exhibit(
        "test_missing_numbers_pass_a_clip",
        "SmartNoise Synth, dpmm, Synthcity, Opacus, diffprivlib",
        f"{RECORD}, 4.3.9",
        paper("2602.17454"),
        "NaN passes a clip, and one row makes the sum NaN.",
        "NaN is a missing value in tables; an array with NaN is refused before a charge.",
        "nan",
    ),
    Exhibit(
        "test_sensitivity_of_shares_for_counts",
        "DataSynthesizer",
        *thread("DataResponsibly/DataSynthesizer", 34),
        "Noise for shares, which move by 2/n, was added to counts, which move by 2.",
        "Counts are measured as counts.",
    ),
    Exhibit(
        "test_noise_that_vanishes_at_a_limit_of_a_setting",
        "Synthcity PrivBayes",
        f"{RECORD}, 4.3.3",
        paper("2602.17454"),
        "The scale of the noise is 0 where all attributes are parents.",
        "No scale is 0: a noise of scale 0 is refused.",
    ),
    Exhibit(
        "test_scale_divided_by_the_number_of_dimensions",
        "SmartNoise MWEM",
        *thread("opendp/smartnoise-sdk", 472),
        "The noise was divided by the number of attributes.",
        "The noise follows from the sensitivity of all counts together.",
    ),
    Exhibit(
        "test_a_column_that_is_computed_after_its_groups_were_limited",
        "OpenDP (Polars)",
        *thread("opendp/opendp", 2949),
        "A column was overwritten after rows were limited by it; the limit was still believed.",
        "Limits apply to the column as it is grouped.",
        "redefined",
    ),
    Exhibit(
        "test_codes_that_follow_the_order_of_rows",
        "OpenDP (Polars)",
        *thread("opendp/opendp", 2944),
        "Codes of categories follow the order of rows: one row changes the value of all.",
        "Only operations on one row, or on all rows of one person, are accepted.",
        "codes",
    ),
    Exhibit(
        "test_less_noise_for_less_budget",
        "PySyft",
        *thread("OpenMined/PySyft", 6914),
        "Less noise used less budget.",
        "The charge is the noise itself, and its curve decides the cost.",
    ),
)
DOMAINS = (
    Exhibit(
        "test_labels_from_the_rows",
        "diffprivlib",
        *thread("IBM/differential-privacy-library", 106),
        "Logistic regression took its classes from the rows.",
        "Classes are declared, or found privately.",
        "labels",
    ),
    Exhibit(
        "test_the_largest_value_as_the_domain",
        "dpmm",
        *thread("sassoftware/dpmm", 18),
        "The domain of an attribute was the maximum of the rows.",
        "Sizes and keys are arguments; a value outside is in no group.",
    ),
    Exhibit(
        "test_categories_of_the_rows_that_are_passed",
        "Reprosyn",
        *thread("alan-turing-institute/reprosyn", 38),
        "The categories were those of the data that were passed.",
        "Groups are listed, or shown above a noisy threshold.",
    ),
    Exhibit(
        "test_categories_of_the_rows_that_are_passed",
        "PrivBayes (DataSynthesizer)",
        "Annamalai, Ganev, De Cristofaro 2024, USENIX Security",
        paper("2405.10994"),
        "Metadata of the data were published with the synthetic rows.",
        "As above.",
    ),
    Exhibit(
        "test_the_number_of_rows_as_a_public_divisor",
        "Synthcity",
        RECORD,
        paper("2602.17454"),
        "The number of rows was used as if it were public.",
        "A mean is a noisy sum and a noisy count.",
    ),
    Exhibit(
        "test_bounds_from_the_rows",
        "diffprivlib",
        *thread("IBM/differential-privacy-library", 90, "pull"),
        "Without bounds, minimum and maximum of the rows are used, with a warning.",
        "Bounds are required, or found privately.",
        "bounds",
    ),
    Exhibit(
        "test_a_divisor_of_gradients_from_the_number_of_rows",
        "Opacus",
        *thread("meta-pytorch/opacus", 571),
        "The expected batch size follows from the number of rows.",
        "Rate, steps and divisor are arguments, the same for both data sets.",
        "divisor",
    ),
    Exhibit(
        "test_a_floor_in_the_normaliser",
        "Opacus",
        *thread("meta-pytorch/opacus", 819),
        "The normaliser is a floor that one row changes; many outputs then tell the row.",
        "As above.",
    ),
)
ACCOUNTING = (
    Exhibit(
        "test_odometer_without_a_logarithm",
        "SmartNoise SQL",
        *thread("opendp/smartnoise-sdk", 621),
        "1/delta where the theorem has log(1/delta): the loss was overestimated.",
        "Composition is computed from loss distributions, with a lower and an upper end.",
        "odometer",
    ),
    Exhibit(
        "test_rho_of_permute_and_flip",
        "OpenDP",
        *thread("opendp/opendp", 2911),
        "Noisy max stated a quarter of the rho that its mechanism spends.",
        "Choices are the exponential mechanism, and their curve is that of a bounded range.",
        "noisy_max",
    ),
    Exhibit(
        "test_one_sample_for_two_amplified_releases",
        "OpenDP",
        *thread("opendp/opendp", 2933),
        "Amplified measurements on the same sample were composed.",
        "No call amplifies a sample of the caller's.",
        "amplified",
    ),
    Exhibit(
        "test_conversion_that_rounds_downwards",
        "OpenDP",
        *thread("opendp/opendp", 2820, "pull"),
        "A conversion of zCDP rounded a delta downwards by the last bit.",
        "All reported ends are rounded upwards; compared with 60 digits.",
    ),
    Exhibit(
        "test_budget_that_every_part_spends_whole",
        "MOSTLY AI",
        RECORD,
        paper("2602.17454"),
        "Parts of a pipeline each spent the whole budget.",
        "A payment draws each release once.",
    ),
    Exhibit(
        "test_budget_that_is_checked_after_a_step",
        "SmartNoise Synth",
        *thread("opendp/smartnoise-sdk", 424, "pull"),
        "Training checked the budget after a step instead of before it.",
        "The charge is on disk before noise is drawn.",
    ),
    Exhibit(
        "test_fixed_batches_with_the_account_of_poisson_samples",
        "JAX Privacy",
        *thread("google-deepmind/jax_privacy", 84),
        "Examples used batches in order with the account of Poisson samples.",
        "Poisson and fixed batches are different charges with different theorems.",
    ),
    Exhibit(
        "test_constant_batches_in_an_accountant_of_samples",
        "Opacus",
        *thread("meta-pytorch/opacus", 80),
        "Batches of a constant size with the account of Poisson samples.",
        "As above.",
    ),
    Exhibit(
        "test_sampling_rate_without_accumulated_steps",
        "JAX Privacy",
        *thread("google-deepmind/jax_privacy", 271, "pull"),
        "A check left out accumulated gradients and accepted too little noise.",
        "One plan has the rate for calibration and check.",
    ),
    Exhibit(
        "test_textbook_scale_beyond_its_proof",
        "several papers and programs",
        "Zhao et al. 2019",
        paper("1911.12060"),
        "The textbook sigma is used for epsilon above 1, where it is not proved and fails.",
        "Sigma comes from the exact curve.",
    ),
    Exhibit(
        "test_budget_that_two_requests_read_at_once",
        "IPA",
        *thread("private-attribution/ipa", 14, "pull"),
        "Concurrent requests read and write the spent budget.",
        "The ledger checks and writes in one transaction.",
    ),
    Exhibit(
        "test_a_spend_too_small_to_count",
        "OpenMed",
        *thread("maziyarpanahi/openmed", 2457, "pull"),
        "A tiny spend was lost in a sum of floats after the budget was exhausted.",
        "Budgets are added as exact fractions.",
        "tiny",
    ),
)
RANDOMNESS = (
    Exhibit(
        "test_sampler_with_a_wrong_division",
        "OpenDP",
        *thread("opendp/opendp", 2639, "pull"),
        "A wrong division of big numbers biased the additive noise.",
        "Draws are decided by intervals of ball arithmetic; the law is tested.",
        "sampler",
    ),
    Exhibit(
        "test_randomised_response_that_skips_a_bit",
        "OpenDP",
        *thread("opendp/opendp", 2708, "pull"),
        "Randomised response left one bit of a vector as it was.",
        "Every report has its own noise.",
        "bitvec",
    ),
    Exhibit(
        "test_projection_that_lost_its_scale",
        "OpenDP",
        *thread("opendp/opendp", 2805, "pull"),
        "A sketch lost precision by a wrong exponent: less accurate, not less private.",
        "hush has no such sketch; rounding moves a value by half a step at most.",
    ),
    Exhibit(
        "test_one_key_for_several_parts",
        "JAX example of DP-SGD",
        *thread("jax-ml/jax", 3646, "pull"),
        "One key of the generator was used for several parts of the gradient.",
        "Every call and every part has a key of its own.",
    ),
    Exhibit(
        "test_generator_that_can_be_predicted",
        "JAX Privacy",
        *thread("google-deepmind/jax_privacy", 85),
        "Default randomness is not cryptographic: its state follows from its outputs.",
        "AES with a fresh key of the operating system for every call; there is no seed.",
    ),
    Exhibit(
        "test_noise_that_is_a_function_of_a_salt",
        "DuckDB extension dp",
        "duckdb.org, community extension dp",
        "https://duckdb.org/community_extensions/extensions/dp",
        "Noise is a function of a salt in the query: it cancels in a difference.",
        "Fresh noise for every answer; entropy from a number is refused.",
    ),
    Exhibit(
        "test_samplers_whose_work_tells_the_noise",
        "several libraries",
        JIN,
        paper("2112.05307"),
        "The time of a discrete sampler tells the size of the noise.",
        "A draw takes the same random words; time in general is [not protected](security.md#not-protected).",
    ),
)
SIDE_EFFECTS = (
    Exhibit(
        "test_a_quantile_that_fails_for_some_rows",
        "diffprivlib",
        *thread("IBM/differential-privacy-library", 107),
        "A quantile raises for some rows: the failure tells how they lie.",
        "No value of a row makes a query fail.",
        "quantile",
    ),
    Exhibit(
        "test_an_exception_for_one_row",
        "diffprivlib",
        *thread("IBM/differential-privacy-library", 107),
        "The same for computed columns: a cast, a division, a logarithm.",
        "They give null, or are refused by their types.",
    ),
    Exhibit(
        "test_a_query_that_waits_for_one_row",
        "PINQ, some in Airavat too",
        FIRE,
        UNDER_FIRE,
        "Code in a query waits where it meets one person's row.",
        "No code of the caller runs on rows.",
    ),
    Exhibit(
        "test_a_query_that_leaves_a_mark",
        "PINQ, some in Airavat too",
        FIRE,
        UNDER_FIRE,
        "Code in a query sets a variable where it meets one person's row.",
        "As above.",
    ),
    Exhibit(
        "test_a_budget_that_depends_on_a_row",
        "PINQ",
        FIRE,
        UNDER_FIRE,
        "A query asks further queries where it meets one person's row: the budget tells.",
        "Charges follow from the question alone.",
    ),
)
#: The themes, with their test files.
THEMES: dict[str, tuple[str, tuple[Exhibit, ...]]] = {
    "Noise in floating point": ("test_floats.py", FLOATS),
    "Sums": ("test_sums.py", SUM),
    "Sensitivity": ("test_sensitivity.py", SENSITIVITY),
    "Domains and sizes": ("test_domains.py", DOMAINS),
    "Accounting": ("test_accounting.py", ACCOUNTING),
    "Randomness": ("test_randomness.py", RANDOMNESS),
    "Side effects": ("test_side_effects.py", SIDE_EFFECTS),
}
EXHIBITS = tuple(exhibit for _, exhibits in THEMES.values() for exhibit in exhibits)
