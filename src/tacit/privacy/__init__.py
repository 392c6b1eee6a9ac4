"""Privacy guarantees, and how people read them.

guarantee       the card: what is claimed, for whom, against whom, and on what basis
measurements    how well attackers did: the part of a card, and the sentence that describes it
printed_bounds  bounds as short texts, rounded to the safe side
officer_card    a page about a guarantee for a person who decides, with a verdict of one word
"""

from tacit.privacy.guarantee import Adjacency as Adjacency
from tacit.privacy.guarantee import Basis as Basis
from tacit.privacy.guarantee import Change as Change
from tacit.privacy.guarantee import Claim as Claim
from tacit.privacy.guarantee import Guarantee as Guarantee
from tacit.privacy.guarantee import Trust as Trust
from tacit.privacy.guarantee import Unit as Unit
from tacit.privacy.guarantee import sort_refuted_first as sort_refuted_first
from tacit.privacy.measurements import LEAST_OF_RAREST as LEAST_OF_RAREST
from tacit.privacy.measurements import LEAST_PEOPLE as LEAST_PEOPLE
from tacit.privacy.measurements import PANEL as PANEL
from tacit.privacy.measurements import PERMUTED as PERMUTED
from tacit.privacy.measurements import SMALL_DISTANCE as SMALL_DISTANCE
from tacit.privacy.measurements import Measurement as Measurement
from tacit.privacy.measurements import attack_summary as attack_summary
from tacit.privacy.measurements import has_too_few_people as has_too_few_people
from tacit.privacy.measurements import permuted_measurement as permuted_measurement
from tacit.privacy.measurements import strongest_measurement as strongest_measurement
from tacit.privacy.printed_bounds import format_lower_bound as format_lower_bound
from tacit.privacy.printed_bounds import format_upper_bound as format_upper_bound
