"""Creates and connects the components of spaces."""

from __future__ import annotations

from mesh.features.spaces.node.changes import Changes
from mesh.features.spaces.node.claiming import Claiming
from mesh.features.spaces.node.copies import Copies
from mesh.features.spaces.node.declaring import Declaring
from mesh.features.spaces.node.explaining import SpaceReasons
from mesh.features.spaces.node.forcing import Forcing
from mesh.features.spaces.node.holdings import Holdings
from mesh.features.spaces.node.home_relay import HomeRelay
from mesh.features.spaces.node.homes import Homes
from mesh.features.spaces.node.inheriting import Inheriting
from mesh.features.spaces.node.leashes import Leashes
from mesh.features.spaces.node.lock_calls import LockCalls
from mesh.features.spaces.node.lock_homes import LockHomes
from mesh.features.spaces.node.moving import Moving
from mesh.features.spaces.node.space_calls import SpaceCalls
from mesh.features.spaces.node.spaces import Spaces
from mesh.features.spaces.node.tallies import Tallies
from mesh.features.spaces.node.tally_calls import TallyCalls
from mesh.features.spaces.node.voting import Voting
from mesh.kernel.feature import FeatureParts
from mesh.kernel.parts import Parts


class SpaceParts(FeatureParts):
    """The components of maps, counters, locks and tallies."""

    def __init__(self, k: Parts) -> None:
        self.spaces = Spaces(k.context, k.shared)
        self.voting = Voting(k.context, k.disk, k.neighbours, self.spaces)
        self.claiming = Claiming(k.context, k.neighbours, k.questions, self.spaces, self.voting)
        self.leashes = Leashes(k.context, k.neighbours, k.questions, self.spaces, self.voting)
        self.holdings = Holdings(k.context, k.disk)
        changes = Changes(k.context, k.router)
        self.homes = Homes(k.context, k.disk, changes, self.spaces, self.leashes, self.holdings)
        copies = Copies(k.context, self.holdings)
        relay = HomeRelay(k.context, k.nodes, k.questions, self.spaces)
        self.moving = Moving(
            k.context,
            k.disk,
            k.questions,
            self.spaces,
            self.voting,
            self.claiming,
            self.leashes,
            self.holdings,
            self.homes,
        )
        forcing = Forcing(
            k.context, k.disk, k.neighbours, k.questions, self.claiming, self.holdings, self.homes, copies
        )
        declaring = Declaring(k.context, k.nodes, relay, self.spaces, self.claiming, self.moving, forcing)
        calls = SpaceCalls(k.context, relay, self.spaces, declaring, self.homes, copies)
        self.locks = LockHomes(k.context, self.spaces, self.homes)
        lock_calls = LockCalls(k.context, relay, self.spaces, declaring, self.locks)
        reasons = SpaceReasons(
            k.context, k.nodes, self.spaces, self.voting, self.claiming, self.leashes, self.homes
        )
        homes = self.voting, self.claiming, self.leashes, self.holdings, self.homes
        inheriting = Inheriting(k.context, self.spaces, self.voting, self.claiming)
        moves = copies, self.moving, forcing, inheriting
        self.tallies = Tallies(k.context, k.disk, k.shared)
        tally_calls = TallyCalls(k.context, relay, k.neighbours, k.shared, self.tallies)
        verbs = declaring, calls, self.locks, lock_calls, self.tallies, tally_calls, reasons
        super().__init__(self.spaces, *homes, *moves, *verbs)
