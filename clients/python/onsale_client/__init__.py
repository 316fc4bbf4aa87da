"""A small client for onsale: a buyer in a waiting room and in the sale. `onsale_client.middleware` lets
admitted buyers into a shop elsewhere.
"""

from onsale_client.buyer import Buyer
from onsale_client.errors import Ended, NotOpen, OnsaleError, Refused
from onsale_client.proof import solve

__all__ = ["Buyer", "Ended", "NotOpen", "OnsaleError", "Refused", "solve"]
