"""Creates and connects the components of a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from mesh.kernel.admission import Admission
from mesh.kernel.asking.erasing import Erasing
from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.asking.lookup import Lookup
from mesh.kernel.calls import Verbs
from mesh.kernel.client_room import ClientRoom
from mesh.kernel.context.settings import Settings
from mesh.kernel.delivery.joint_acceptance import JointAcceptance
from mesh.kernel.feature import Feature, FeatureParts, build, in_order
from mesh.kernel.forwarding.deadletters import DeadLetters
from mesh.kernel.forwarding.dirty_reads import DirtyReads
from mesh.kernel.forwarding.forwarder import Forwarder
from mesh.kernel.forwarding.joint_forwards import JointForwards
from mesh.kernel.forwarding.joint_routes import JointRoutes
from mesh.kernel.forwarding.provenance import Provenance
from mesh.kernel.forwarding.routes import Routes
from mesh.kernel.foundation import Foundation
from mesh.kernel.presence.audience import Audience
from mesh.kernel.presence.members import GroupMembers
from mesh.kernel.presence.presence import Presence
from mesh.kernel.presence.reply_batch import ReplyBatch
from mesh.kernel.reception import Reception
from mesh.kernel.routes.strata import LiveStrata
from mesh.kernel.routes.trees import Trees
from mesh.kernel.rules.inheriting import Inheriting
from mesh.kernel.rules.reparenting import Reparenting
from mesh.kernel.rules.ruling import Ruling
from mesh.kernel.rules.standby import Standby
from mesh.kernel.states.clocks import Clocks
from mesh.kernel.states.nodetopics import NodeTopics
from mesh.kernel.status import Status
from mesh.kernel.subscribers.client_feeds import ClientFeeds
from mesh.kernel.subscribers.client_finder import ClientFinder
from mesh.kernel.subscribers.clients import Clients
from mesh.kernel.subscribers.collecting import Collecting
from mesh.kernel.subscribers.consuming import Consuming
from mesh.kernel.subscribers.copies import Copies
from mesh.kernel.subscribers.datalink import DataLinks
from mesh.kernel.subscribers.firstvalues import FirstValues
from mesh.kernel.subscribers.gap_reports import GapReports
from mesh.kernel.subscribers.holdings import Holdings
from mesh.kernel.subscribers.inboxes import Inboxes
from mesh.kernel.subscribers.item_arrivals import ItemArrivals
from mesh.kernel.subscribers.lastvalues import LastValues
from mesh.kernel.subscribers.master_logs import MasterLogs
from mesh.kernel.subscribers.origins import Origins
from mesh.kernel.subscribers.peer_subscriptions import PeerSubscriptions
from mesh.kernel.subscribers.publishing import Publishing
from mesh.kernel.subscribers.refill_source import RefillSource
from mesh.kernel.subscribers.refilling import Refilling
from mesh.kernel.subscribers.relayed_calls import RelayedCalls
from mesh.kernel.subscribers.remote_inboxes import RemoteInboxes
from mesh.kernel.subscribers.resume_source import ResumeSource
from mesh.kernel.subscribers.resuming import Resuming
from mesh.kernel.subscribers.sender_check import SenderCheck
from mesh.kernel.subscribers.sessions import Sessions
from mesh.kernel.subscribers.subscribing import SubscriberFeeds
from mesh.kernel.subscribers.visiting import Visiting
from mesh.routing.refill_gates import RefillGates
from mesh.wire.limits import DIRTY

F = TypeVar("F", bound=FeatureParts)


class Parts(Foundation):
    """The components of a node: those of the kernel, and the features that are built on them."""

    def __init__(
        self,
        settings: Settings,
        ids: Callable[[int], bytes],
        jitter: Callable[[], float],
        features: Sequence[Feature[Parts]] = (),
    ) -> None:
        super().__init__(settings, ids, jitter)
        context, disks, disk, mapping, log = self.context, self.disks, self.disk, self.mapping, self.log
        n, nodes, router, questions, gossiping = (
            self.neighbours, self.nodes, self.router, self.questions, self.gossiping
        )  # fmt: skip
        paging, merging, settling, vouching = self.paging, self.merging, self.settling, self.vouching
        provenance = Provenance(context, vouching)
        demand = self.demand = InterestSync(context, mapping, n, nodes, questions.slow)
        gates = RefillGates()
        lookup = Lookup(context, router, demand, questions, nodes, merging, gates)
        node_topics = NodeTopics(context, self.telling, n, mapping)
        erasing = Erasing(context, router, demand, questions, nodes, provenance.judge)
        sessions = self.sessions = Sessions(context)
        dead = self.dead = DeadLetters(context, disk, router)
        provisional = DirtyReads(context, router, mapping, lambda feed: sessions.speak(feed, DIRTY))
        forwarder = self.forwarder = Forwarder(
            context, disk, router, n, nodes, mapping, provenance, dead, sessions.answer_client, provisional
        )
        copies = Copies(context, mapping, log, disk)
        gaps = GapReports(context, n, sessions)
        arrivals = ItemArrivals(context, router, n, mapping, settling, merging, copies, provisional, gates)
        links = self.links = DataLinks(context, disk, router, n, nodes, demand, forwarder, gaps, arrivals)
        origins = Origins(context, vouching, mapping, links.solicited.has_grace, n.named)
        sender_check = self.sender_check = SenderCheck(context, n, origins, links.solicited, links.items)
        wanted = self.wanted = PeerSubscriptions(
            context, disk, router, n, demand, questions, arrivals.received_positions
        )
        inboxes = self.inboxes = Inboxes(context, disk, paging, dead, sessions)
        calls = self.relayed_calls = RelayedCalls(context, n, nodes, questions)
        remote_inboxes = RemoteInboxes(context, disk, self.peers, questions, calls, inboxes)
        first = self.first_values = FirstValues(context, router.joining, demand, questions, lookup)
        strata = self.strata = LiveStrata(context, mapping, n, nodes)
        refills = RefillSource(context, disk, router, nodes, questions, strata, self.peers)
        refilling = self.refilling = Refilling(
            context, disk, mapping, n, nodes, questions, demand, strata, arrivals, settling.resumed
        )
        resumable = ResumeSource(context, disk, self.peers, demand, sessions, calls)
        logs = MasterLogs(context, n, calls, resumable)
        resuming = self.resuming = Resuming(context, demand, logs, merging, settling.resumed)
        collecting = Collecting(context, n, nodes, questions, inboxes)
        subscribing = self.subscribing = SubscriberFeeds(
            context,
            disk,
            router,
            demand,
            questions,
            first,
            collecting,
            ClientFeeds(context, settling, paging),
            arrivals.received_positions,
            resuming,
        )
        publishing = self.publishing = Publishing(context, sessions, forwarder)
        self.joint = JointAcceptance(context, router)
        self.joint_routes = JointRoutes(context, mapping, forwarder.routing)
        self.joint_forwards = JointForwards(context, router, mapping, forwarder, provisional)
        clients = self.clients = Clients(context, router, nodes, publishing, subscribing, sessions)
        visiting = self.visiting = Visiting(context, disk, n, calls, clients, resuming)
        holdings = Holdings(context, sessions, clients.cut_off_largest)
        audience = Audience(nodes, questions.slow)
        presence = self.presence = Presence(context, n, nodes, audience)
        members = self.members = GroupMembers(context, n, nodes, audience)
        self.back = ReplyBatch(context, self.peers.get)
        trees = Trees(context, mapping, nodes, questions, strata)
        room = self.room = ClientRoom(context, n, gossiping, sessions)
        admission = self.admission = Admission(
            context, self.dialler, n, self.meeting, self.censuses, self.recall, clients, room, links,
            self.piecework,
        )  # fmt: skip
        last_values = LastValues(context, lookup, erasing, forwarder, links)
        ruling = self.ruling = Ruling(context, mapping, self.meeting, n, nodes, router, gossiping, demand)
        reparenting = self.reparenting = Reparenting(
            context, mapping, n, nodes, gossiping, strata, refilling, ruling
        )
        inheriting = Inheriting(context, mapping, lookup, erasing, log, disks.own)
        standby = Standby(context, mapping, nodes, demand, questions, copies)
        finder = self.client_finder = ClientFinder(context, nodes, questions, sessions)
        routes = self.routes = Routes(context, mapping, nodes, questions)
        status = self.status = Status(context, n, gossiping, forwarder)
        self.reception = Reception(context, admission, sessions, n, self.piecework)
        self._features: list[FeatureParts] = []
        for feature in in_order(features):
            self._features.append(build(feature, self))
        # Lower packages first. Components that repeat questions follow those that know the nodes to ask.
        context.face.fill(
            (
                context.events, disks, calls, resumable, refills, n, n.acquaintances, self.meeting,
                self.censuses, router, nodes.whereabouts, self.ways, self.recall, gossiping,
                Clocks(context, n), node_topics,
                vouching, demand, lookup, forwarder.shipping, provisional, forwarder,
                sessions, sender_check, visiting, links, wanted,
                inboxes, remote_inboxes, collecting, last_values, finder, routes, first, resuming,
                subscribing, publishing, clients,
                refilling, self.authors, self.shared, self.weights, ruling, inheriting, standby, strata,
                reparenting, trees, admission, room, status, Consuming(context, room.check_new_service),
                presence, members,
                *(component for feature in self._features for component in feature.components),
                Verbs(context, wanted), self.reception, holdings, questions,
            )
        )  # fmt: skip

    def __getitem__(self, kind: type[F]) -> F:
        """Return the components of a feature by their class, as in `parts[QueueParts]`."""
        for parts in self._features:
            if isinstance(parts, kind):
                return parts
        raise KeyError(kind)
