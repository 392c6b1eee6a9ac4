"""Commands `tacit plan prec` and `tacit replay prec`: their options, and the tables they print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.design import Command, Run, option
from tacit.errors import ConfigError
from tacit.evaluation import Interval, Result, Table, describe_run
from tacit.privacy import format_lower_bound, format_upper_bound

if TYPE_CHECKING:
    from tacit.data.votes import Likes, VoteRounds
    from tacit.designs.prec import PRec
    from tacit.designs.prec.planner import LossPlan

DELTA = "Probability by which any event may exceed the bound of epsilon, such as 1e-6."
DIVERSITY = "Largest number of rounds in which the client likes several objects."
RADIUS = "Largest number of a peer's votes for objects that the client dislikes."
TOGETHER = "Number of clients; epsilon is for what they see together."


@dataclass(frozen=True)
class PlanSettings:
    """Options of `tacit plan prec`."""

    objects: int = option("Largest number of objects to choose from in a round.")
    rounds: int = option("Number of rounds, each with one recommendation.")
    peers: int = option("Number of voters to hide among: assumed, or enforced by a gate.")
    voters: int = option("Largest number of voters that there could ever be.")
    diversity: int = option(DIVERSITY, default=0)
    radius: int = option(RADIUS, default=0)
    epsilon: float | None = option(
        "Compute how many peers this epsilon needs; the gate's own epsilon is not part of it.",
        default=None,
    )
    loss: float | None = option(
        "Number of disliked recommendations that are allowed: print the epsilon proven for it.",
        default=None,
        least=0,
    )
    mode: str | None = option(
        "Assumption of --loss's epsilon: promise, or floor (with a gate); default: the one with "
        "the smaller epsilon.",
        default=None,
    )
    report: Path | None = option(
        "Write a page with the curve of epsilon against loss here.", default=None, writes=True
    )

    def __post_init__(self) -> None:
        if self.mode not in (None, "promise", "floor"):
            raise ConfigError(f"--mode is promise or floor; got {self.mode!r}.")
        if self.mode is not None and self.loss is None and self.report is None:
            raise ConfigError(
                "--mode is the assumption of the epsilon for a loss: add --loss or --report."
            )

    @property
    def sizes(self) -> dict[str, int]:
        """The options that `planner.plan` and `planner.loss_curve` both take, by parameter name."""
        return {
            "objects": self.objects,
            "rounds": self.rounds,
            "peers": self.peers,
            "voters": self.voters,
            "diversity": self.diversity,
            "radius": self.radius,
        }


def plan(settings: PlanSettings, run: Run) -> Result:
    """Compute what p-REC reveals, and how many voters it needs.

    With a gate the epsilon holds for any votes, with the gate's own epsilon and delta on top.
    Without one it holds if enough voters agree with the client throughout, which nobody can check.
    With --epsilon, computes how many peers this epsilon needs. With --loss, computes the epsilon
    that is proven for a number of disliked recommendations, and lower bounds for any algorithm.
    """
    from tacit.designs.prec import planner

    mode: Any = settings.mode
    planned = planner.plan(
        **settings.sizes, epsilon=settings.epsilon, loss=settings.loss, mode=mode
    )
    exact_epsilons = planned["epsilon_exact"] or {}
    basis = {}
    for proof_mode in ("floor", "promise"):
        basis[proof_mode] = "bound" if exact_epsilons.get(proof_mode) is None else "exact"
    proven = planned["epsilon_proven"]
    epsilon_table = Table(
        "",
        ("epsilon of one voter's whole history", "nats", "kind of number"),
        [
            (
                "with a gate, whose own epsilon is not counted",
                _upper_text(proven["floor"]),
                basis["floor"],
            ),
            ("without a gate, promise kept", _upper_text(proven["promise"]), basis["promise"]),
            ("theorem, tight constants", _upper_text(planned["epsilon_tight"]), "bound"),
            (
                "theorem, in the paper's simpler form",
                _upper_text(planned["epsilon_paper"]),
                "bound",
            ),
            (
                "any algorithm, with p-REC's loss",
                _lower_text(planned["epsilon_lower_bound"]),
                "lower bound",
            ),
        ],
    )
    loss_table = Table(
        "",
        ("disliked recommendations, promise kept", "number"),
        [
            ("expected, at most", planned["loss_bound"]),
            ("in 99 of 100 runs, at most", planned["likely_loss_bound"]),
            ("expected by any algorithm, at least", planned["loss_lower_bound"]),
        ],
    )
    shown: list[Table | str] = [epsilon_table, loss_table, advice_sentences(planned)]
    if settings.loss is not None:
        shown += [bounds_table(planned), loss_sentences(planned)]
    if settings.report is not None:
        curve = planner.loss_curve(**settings.sizes, mode=mode)
        planned["curve"] = [asdict(point) for point in curve]
        write_curve(planned, curve, settings.report, describe_run(run.command, asdict(settings)))
    if planned["epsilon_exact_reason"] is not None:
        shown.append(planned["epsilon_exact_reason"])
    shown.append("docs/prec-theory.md says how these numbers are found.")
    next_command = "tacit guarantee prec --epsilon 1  reads what each variant promises."
    return Result(planned, shown, next_command)


def advice_sentences(planned: Mapping[str, Any]) -> str:
    """Say how much p-REC reveals under each assumption, and how many peers --epsilon needs.

    Args:
        planned: What `planner.plan` returned.
    """
    proven = planned["epsilon_proven"]
    peers = planned["peers"]
    voters = planned["voters"]
    has_credits = planned["diversity"] + planned["radius"] > 0
    kept_by_gate = f"the credits of {peers:,} voters" if has_credits else f"{peers:,} voters"
    text = (
        f"A gate that keeps {kept_by_gate} in play limits what "
        f"{planned['rounds']:,} recommendations reveal about any one of {voters:,} to "
        f"{_upper_text(proven['floor'])} nats, besides the gate's own epsilon and delta. Without "
        f"a gate it is {_upper_text(proven['promise'])} nats if {peers:,} voters agree with the "
        "client throughout, which cannot be checked; otherwise there is no limit."
    )
    if voters <= peers:
        text += (
            f" The second number is for {peers + 1:,} voters: a voter who is hidden comes on top "
            f"of the {peers:,}."
        )
    needed = planned.get("peers_needed")
    if needed is None:
        return text
    text += f" For epsilon {needed['epsilon']:g} "
    floor = needed["floor"]
    if floor is None:
        return f"{text}not even all {voters:,} voters are enough."
    if needed["exact_floor"] is None:
        text += f"it is known to be enough that a gate keeps {floor:,}"
    else:
        text += f"a gate has to keep {floor:,}, exactly"
    return f"{text}; the theorem asks for {needed['theorem']:,}."


def bounds_table(planned: Mapping[str, Any]) -> Table:
    """Tabulate the epsilon proven for p-REC at a loss, and the lower bounds for any algorithm.

    Args:
        planned: What `planner.plan` returned with `loss`.
    """
    epsilon = planned["epsilon"]
    mode = planned["mode"]
    name = "p-REC, at most" if mode is None else f"p-REC, at most ({mode})"
    rows = [(name, "not proven for so small a loss" if epsilon is None else _upper_text(epsilon))]
    bounds = planned["bounds"]
    rows += [(f"{bound['name']}, at least", _lower_text(bound["epsilon"])) for bound in bounds]
    return Table("", (f"epsilon at {planned['loss']:g} disliked recommendations", "nats"), rows)


def loss_sentences(planned: Mapping[str, Any]) -> str:
    """Say which epsilon p-REC has for a loss, and how far the largest lower bound is below it.

    Args:
        planned: What `planner.plan` returned with `loss`.
    """
    loss = planned["loss"]
    epsilon = planned["epsilon"]
    if planned["impossible"]:
        return (
            f"No algorithm, private or not, has only {loss:g} disliked recommendations: at least "
            f"{planned['loss_lower_bound']:g} are expected in the worst case (Theorem 6)."
        )
    if epsilon is None:
        return (
            f"p-REC is proven to have at most {planned['loss_bound']:.4g} and has no setting that "
            "lowers it: for a smaller loss no epsilon is proven here."
        )
    if epsilon == 0:
        return (
            "Uniform recommendations, which use no votes, have no more disliked ones than this: "
            "epsilon is 0."
        )
    text = (
        f"p-REC has at most {planned['loss_bound']:.4g} at epsilon {_upper_text(epsilon)}, and "
        "no setting that changes it: the epsilon for a larger loss is the same, until uniform "
        "recommendations are good enough. "
    )
    if planned["mode"] == "floor":
        text += "The gate's own epsilon and delta are added to it. "
    else:
        text += (
            f"It holds only if {planned['peers']:,} voters agree with the client throughout, which "
            "cannot be checked. "
        )
    if planned["gap"] is None:
        return f"{text}No lower bound is above 0 at this loss."
    largest_bound = epsilon / planned["gap"]
    return (
        f"{text}No algorithm can go below {_lower_text(largest_bound)} ({planned['decides']} "
        f"decides), a factor of {planned['gap']:.3g} less. That is the paper's main result: there "
        "is little trade-off, as the lower bound falls with the logarithm of the loss alone."
    )


def _upper_text(epsilon: float) -> str:
    """Format an upper bound in nats with four digits, rounded up."""
    return format_upper_bound(epsilon, digits=4)


def _lower_text(epsilon: float) -> str:
    """Format a lower bound in nats with four digits, rounded down."""
    return format_lower_bound(epsilon, digits=4)


def write_curve(
    planned: Mapping[str, Any], curve: Sequence[LossPlan], file: Path, manifest: dict[str, Any]
) -> None:
    """Write a page with a plot of epsilon against loss: p-REC's epsilon, and the lower bounds.

    Args:
        planned: What `planner.plan` returned.
        curve: What `planner.loss_curve` returned for the same sizes.
        file: Path of the page.
        manifest: Description of the command's run, for the foot of the page.
    """
    from tacit.designs.prec import theory
    from tacit.evaluation.lines import Line
    from tacit.evaluation.page import Figure, Mark, Page, Plot, Section
    from tacit.evaluation.plots import steps

    # Both lines: epsilon by loss, as an interval without width; None where nothing is proven
    proven_epsilons: dict[float | None, Interval | None] = {}
    lower_bounds: dict[float | None, Interval | None] = {}
    rows = []
    for point in curve:
        epsilon = point.epsilon
        lower_bound = max(bound.epsilon for bound in point.bounds)
        proven_epsilons[point.loss] = (
            None if epsilon is None else Interval(epsilon, epsilon, epsilon)
        )
        lower_bounds[point.loss] = Interval(lower_bound, lower_bound, lower_bound)
        epsilon_text = "–" if epsilon is None else _upper_text(epsilon)
        rows.append((f"{point.loss:.4g}", epsilon_text, _lower_text(lower_bound), point.decides))
    lines = (
        Line("p-REC, at most", "var(--p2)", (), proven_epsilons),
        Line("any algorithm, at least", "var(--p3)", (5, 3), lower_bounds),
    )
    plot = steps(
        lines,
        x_title="disliked recommendations",
        y_title="epsilon, nats",
        transitions=[
            planned["loss_bound"],
            theory.uniform_loss(planned["objects"], planned["rounds"]),
        ],
    )
    columns = ("disliked", "p-REC, at most", "any algorithm, at least", "by")
    figure = Figure(
        "Epsilon against loss",
        "Step plot of epsilon against loss; the table below holds the same figures.",
        [Plot(plot)],
        "Upright lines: p-REC's loss bound, below which nothing is proven, and the loss of uniform "
        "recommendations, from which on epsilon is 0.",
        key=[Mark(line.name, line.colour, line.dash) for line in lines],
        table=Table("", columns, rows),
    )
    lead = (
        f"{planned['rounds']:,} rounds of {planned['objects']} objects, {planned['voters']:,} "
        f"voters, {planned['peers']:,} peers, diversity {planned['diversity']}, radius "
        f"{planned['radius']}. There is little trade-off: p-REC's epsilon is one number for every "
        "loss from its loss bound to the loss of uniform recommendations, and the lower bound "
        "falls with the logarithm of the loss."
    )
    page = Page(
        "p-REC: epsilon against loss",
        [Section("Epsilon at each loss", figures=[figure])],
        manifest,
        lead=lead,
        design="p-REC",
    )
    page.write(file)


@dataclass(frozen=True)
class ReplaySettings:
    """Options of `tacit replay prec`."""

    votes: Path = option("A file with columns round, voter, candidate.", argument="VOTES")
    voters: int = option("Largest number of voters that there can be, a public bound.", least=1)
    likes: Path | None = option(
        "A file with columns client, round, candidate: what clients like.", default=None
    )
    follow: str | None = option(
        "In place of --likes: serve one client, who likes exactly what this voter votes for.",
        default=None,
    )
    epsilon: float | None = option(
        "Epsilon of all that a group of clients sees, as many as --together says; inf: no privacy; "
        "default: 1, or computed from --peers.",
        default=None,
    )
    delta: float = option(DELTA, default=1e-6)
    peers: int | None = option(
        "Least number of voters that the gate requires; by default it is chosen so that the gate's "
        "threshold is low.",
        default=None,
        least=1,
    )
    diversity: int = option(DIVERSITY, default=0, least=0)
    radius: int = option(RADIUS, default=0, least=0)
    together: int = option(TOGETHER, default=1, least=1)
    variant: str = option("'sound', or 'published' as the paper prints it.", default="sound")

    def __post_init__(self) -> None:
        if (self.likes is None) == (self.follow is None):
            raise ConfigError(
                "Say what the clients like: --likes FILE, or --follow VOTER for a client who likes "
                "exactly what one voter votes for."
            )


def replay(settings: ReplaySettings, run: Run) -> Result:
    """Serve clients from a file of votes, round after round.

    Prints how many recommendations each client got, how many they disliked, and in which round
    their gate shut. Noise and draws come from the operating system's generator: another call gives
    other recommendations, and costs epsilon again.
    """
    from tacit.data.votes import read_votes
    from tacit.designs.prec import PRec, PRecSettings
    from tacit.randomness import secure

    recorded = read_votes(settings.votes)
    likes_by_client = _read_likes(recorded, settings)
    epsilon = settings.epsilon
    if epsilon is None and settings.peers is None and settings.variant != "published":
        epsilon = 1.0
    variant: Any = settings.variant
    run_settings = PRecSettings(
        len(recorded.rounds),
        max(2, recorded.objects),
        settings.voters,
        peers=settings.peers,
        diversity=settings.diversity,
        radius=settings.radius,
        variant=variant,
        epsilon=epsilon,
        delta=settings.delta,
        clients_together=settings.together,
        clients=max(settings.together, len(likes_by_client)),
    )
    server = PRec(run_settings, randomness=secure())
    with run.progress("Replaying", len(recorded.rounds)) as advance:
        for position, recorded_round in enumerate(recorded.rounds):
            votes = (recorded_round.voters, recorded_round.chosen)
            server.open_round(recorded_round.candidates, votes)
            for client, likes_by_round in likes_by_client.items():
                if position in likes_by_round:
                    recommended = server.recommend(client)
                    server.feedback(client, recommended in likes_by_round[position])
            advance(1)
    return _show_replay(server, recorded, likes_by_client, run.command)


def _read_likes(recorded: VoteRounds, settings: ReplaySettings) -> Likes:
    """Return what each client likes, from --likes or --follow.

    Returns:
        For each client, the set of candidates that they like in a round, by the round's position
        from 0. A client takes part only in the rounds that have such a set.

    Raises:
        ConfigError: The voter of --follow votes in no round.
        DataError: The file of --likes cannot be read, or does not fit the votes.
    """
    from tacit.data.votes import read_likes

    if settings.likes is not None:
        return read_likes(settings.likes, recorded)
    likes_by_round = {}
    for position, recorded_round in enumerate(recorded.rounds):
        is_followed = recorded_round.voters.astype(str) == settings.follow
        likes_by_round[position] = frozenset(recorded_round.chosen[is_followed].tolist())
    if not any(likes_by_round.values()):
        raise ConfigError(f"No voter '{settings.follow}' votes in any round.")
    return {"client": likes_by_round}


def _show_replay(
    server: PRec, recorded: VoteRounds, likes_by_client: Likes, command: str
) -> Result:
    """Make the command's result: what each client was recommended, the plan and the cards.

    Args:
        server: The curator after the last round.
        recorded: Content of the file of votes.
        likes_by_client: What each client likes, as `_read_likes` returns it.
        command: The command line, for the advice to add --json.
    """
    plan = server.plan
    guarantees = server.guarantees()
    clients = [_describe_client(server, client, recorded) for client in likes_by_client]
    plan_values = None
    if plan is not None:
        plan_values = {"peers": plan.peers, "threshold": plan.threshold, "basis": plan.basis}
    data = {
        "settings": server.settings.to_header(),
        "candidates_listed": recorded.listed,
        "plan": plan_values,
        "clients": clients,
        "guarantees": [card.to_dict() for card in guarantees],
    }
    columns = {
        "client": lambda client: str(client["client"]),
        "recommendations": lambda client: len(client["recommendations"]),
        "disliked": lambda client: client["loss"],
        "gate shut in round": lambda client: (
            "never" if client["gate_closed"] is None else str(client["gate_closed"])
        ),
    }
    shown: list[Table | str] = [Table.from_rows("", columns, clients), guarantees[0].sentence]
    if not recorded.listed:
        shown.append(
            "The file has no rows of candidates, so those that got a vote are taken, which the "
            "guarantee does not cover: add a row without a voter for each candidate of each round."
        )
    return Result(data, shown, f"{command} --json  has every recommendation.")


def _describe_client(server: PRec, client: int | str, recorded: VoteRounds) -> dict[str, Any]:
    """Describe one client's view as JSON values; rounds have the names that they have in the file.

    `gate_closed` is None for a client whose gate has never shut.
    """
    transcript = server.transcript(client)
    round_names: dict[int | None, Any] = {None: None}
    for number, recorded_round in enumerate(recorded.rounds, start=1):
        round_names[number] = recorded_round.name
    recommendations = []
    disliked = 0
    for entry in transcript.entries:
        recommendations.append(
            {"round": round_names[entry.round], "candidate": entry.candidate, "liked": entry.liked}
        )
        if not entry.liked:
            disliked += 1
    return {
        "client": client,
        "asked": len(transcript.entries),
        "loss": disliked,
        "gate_closed": round_names[transcript.stopped_round],
        "recommendations": recommendations,
    }


PLAN = Command(PlanSettings, plan)
REPLAY = Command(ReplaySettings, replay)
