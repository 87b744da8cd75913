# SPDX-License-Identifier: Apache-2.0
"""The table `remote` of EXPERIMENT.toml: where hosts, switches and controller are."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated, Any

from pydantic import Field, StringConstraints, model_validator

from ..quantities import Seconds, Strict
from ..traffic import NAME

# Neither an option of ssh nor several words.
DESTINATION = r"^[A-Za-z0-9_.][A-Za-z0-9_.@:%-]*$"
HOST_PORT = r"^[A-Za-z0-9_.\[][A-Za-z0-9_.:\[\]-]*:[0-9]{1,5}$"
SSH_OPTION = r"^[A-Za-z]+=\S.*$"
DIRECTORY = r"^/[A-Za-z0-9_./-]*$"

SshOption = Annotated[str, StringConstraints(pattern=SSH_OPTION)]
Address = Annotated[str, StringConstraints(pattern=HOST_PORT)]


class SshLine(Strict):
    """How a machine is reached."""

    destination: str = Field(
        pattern=DESTINATION,
        description="as ssh takes it: USER@HOST, or a name of its configuration",
    )
    port: int | None = Field(default=None, ge=1, le=65535, description="of its ssh server")
    identity_file: str | None = Field(
        default=None, description="private key on this machine; no passwords are asked for"
    )
    options: list[SshOption] = Field(
        default=[], description='of ssh and scp, as `-o` takes them: `"UserKnownHostsFile=known"`'
    )


class SshHost(SshLine):
    """And its address in the network under test."""

    address: IPv4Address = Field(description="of its data, in the network under test")


class SenderHost(SshHost):
    """A host that sends: one round trip of a group of `topology.hosts`."""

    hosts: str = Field(pattern=NAME, description="the group")
    rtt: Seconds | None = Field(
        default=None, description="which of the group's round trips; needed where it has several"
    )


class ReceiverHost(SshHost):
    """The host behind the last switch."""


class SwitchThere(Strict):
    """A switch of `topology.switches` as the controller has it. Its rate and delays are those of
    the file: this command sets limits only."""

    name: str = Field(pattern=NAME, description="of the switch in `topology.switches`")
    node: int = Field(ge=0, le=2**32 - 1, description="its node in reports and in the controller")
    port: int = Field(ge=0, le=65535, description="its bottleneck port there")
    node_settings: dict[str, Any] = Field(
        default={}, description="keys of the collector's `[nodes.ID]`: profile, exporters, units"
    )
    port_settings: dict[str, Any] = Field(
        default={}, description="keys of the collector's `[nodes.ID.ports.PORT]`, besides its rate"
    )


class CollectorThere(SshLine):
    """A collector that is there, and takes the samples of agents (`agents.accept`)."""

    capture: str = Field(
        pattern=DIRECTORY,
        description="the directory that it writes now; what it writes during the run is fetched",
    )
    rotate: Seconds = Field(
        default=5.0, description="its `capture.rotate_s`: so long is waited for its last files"
    )


class RemoteCollector(Strict):
    """The collector: one that runs on this machine for each run (`listen`), or one that is there.
    The hosts' samples come to it through ssh and this machine."""

    listen: list[Address] = Field(
        default=[], description="ADDRESS:PORT here that the switches send their reports to"
    )
    there: CollectorThere | None = Field(default=None, description="or where it is")
    grpc: Address = Field(
        default="127.0.0.1:9560",
        description="its ADDRESS:PORT, as this machine has it, for the controller and the samples",
    )
    token_file: str | None = Field(
        default=None, description="of `grpc`; needed where it is not on loopback"
    )
    http: Address = Field(
        default="127.0.0.1:9561", description="ADDRESS:PORT here of its metrics (`listen`)"
    )
    agents_port: int = Field(
        default=19560,
        ge=1024,
        le=65000,
        description="TCP port on each sender's loopback, counting up, led to `grpc` by ssh",
    )

    @model_validator(mode="after")
    def _one(self) -> RemoteCollector:
        if bool(self.listen) == (self.there is not None):
            raise ValueError("give listen (a collector that runs here) or there (one that is)")
        return self


class ControllerThere(Strict):
    """A controller that is there, or the configuration of one that is started here for each
    run."""

    url: str | None = Field(
        default=None, pattern=r"^https?://\S+$", description="of one that is there"
    )
    config: str | None = Field(
        default=None, description="controller.toml of one to be started here; or `url`"
    )
    token_file: str = Field(description="with its token; of `config`: where it writes it")

    @model_validator(mode="after")
    def _one(self) -> ControllerThere:
        if (self.url is None) == (self.config is None):
            raise ValueError("give url (a controller that is there) or config (one started here)")
        return self


class RemoteLab(Strict):
    """Hosts over SSH and switches that are there; for the back end `remote`. Paths of files are
    from where the command is run."""

    senders: list[SenderHost] = Field(
        min_length=1, max_length=60, description="a host for each round trip of the groups"
    )
    receiver: ReceiverHost = Field(description="of all data")
    switches: list[SwitchThere] = Field(
        min_length=1, description="those of the topology, in its order"
    )
    collector: RemoteCollector = Field(description="of reports and samples")
    controller: ControllerThere = Field(description="that sets the limits")
    directory: str = Field(
        default="/tmp",
        pattern=DIRECTORY,
        description="of the hosts, where each run makes a directory of its own and removes it",
    )
    programs: str | None = Field(
        default=None,
        pattern=DIRECTORY,
        description="directory on the hosts with tidemark-traffic and tidemark-collector; "
        "default: those of this machine are copied there for each run",
    )
    most_clock_offset: Seconds = Field(
        default=0.1,
        description="by which a host's clock may differ from this machine's, with the error of "
        "measuring it, before and after the run; what is measured is taken off",
    )
