# SPDX-License-Identifier: Apache-2.0
"""The table `remote` of EXPERIMENT.toml: where hosts, switches and controller are."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated, Any

from pydantic import Field, StringConstraints, model_validator

from ..quantities import Seconds, Strict
from ..traffic import NAME

# Excludes options of ssh, and several words.
DESTINATION = r"^[A-Za-z0-9_.][A-Za-z0-9_.@:%-]*$"
HOST_PORT = r"^[A-Za-z0-9_.\[][A-Za-z0-9_.:\[\]-]*:[0-9]{1,5}$"
SSH_OPTION = r"^[A-Za-z]+=\S.*$"
DIRECTORY = r"^/[A-Za-z0-9_./-]*$"

SshOption = Annotated[str, StringConstraints(pattern=SSH_OPTION)]
Address = Annotated[str, StringConstraints(pattern=HOST_PORT)]


class SshLine(Strict):
    """SSH access of a host."""

    destination: str = Field(pattern=DESTINATION, description="USER@HOST, or a name known to ssh")
    port: int | None = Field(default=None, ge=1, le=65535, description="port of the SSH server")
    identity_file: str | None = Field(
        default=None, description="private key on this machine; passwords are not asked for"
    )
    options: list[SshOption] = Field(
        default=[], description='options of ssh and scp, as for `-o`: `"UserKnownHostsFile=known"`'
    )


class SshHost(SshLine):
    """And its address in the network under test."""

    address: IPv4Address = Field(description="data address in the network under test")


class SenderHost(SshHost):
    """A sending host: one round trip of a group of `topology.hosts`."""

    hosts: str = Field(pattern=NAME, description="name of the group")
    rtt: Seconds | None = Field(default=None, description="of the host; if the group has several")


class ReceiverHost(SshHost):
    """The host behind the last switch."""


class SwitchThere(Strict):
    """A switch of `topology.switches`. Only its limits are set; rate and delays have to be
    those of the file."""

    name: str = Field(pattern=NAME, description="name in `topology.switches`")
    node: int = Field(ge=0, le=2**32 - 1, description="its node in reports and the controller")
    port: int = Field(ge=0, le=65535, description="its bottleneck port")
    node_settings: dict[str, Any] = Field(
        default={}, description="keys of the collector's `[nodes.ID]`: profile, exporters, units"
    )
    port_settings: dict[str, Any] = Field(
        default={}, description="keys of the collector's `[nodes.ID.ports.PORT]`; not the rate"
    )


class CollectorThere(SshLine):
    """A running collector with `agents.accept`."""

    capture: str = Field(
        pattern=DIRECTORY,
        description="its capture directory, from which the run's files are fetched",
    )
    rotate: Seconds = Field(default=5.0, description="its `capture.rotate_s`, to wait for files")


class RemoteCollector(Strict):
    """A collector on this machine for each run (`listen`), or a running one (`there`). Samples
    of the hosts reach it over SSH through this machine."""

    listen: list[Address] = Field(default=[], description="ADDRESS:PORT here for reports")
    there: CollectorThere | None = Field(default=None, description="the running collector")
    grpc: Address = Field(
        default="127.0.0.1:9560",
        description="its ADDRESS:PORT from this machine, for controller and samples",
    )
    token_file: str | None = Field(default=None, description="for `grpc`; needed beyond loopback")
    http: Address = Field(default="127.0.0.1:9561", description="for its metrics, with `listen`")
    agents_port: int = Field(
        default=19560,
        ge=1024,
        le=65000,
        description="TCP port on each sender's loopback, counting up, forwarded to `grpc`",
    )

    @model_validator(mode="after")
    def _one(self) -> RemoteCollector:
        if bool(self.listen) == (self.there is not None):
            raise ValueError("give listen (a collector that runs here) or there (one that is)")
        return self


class ControllerThere(Strict):
    """A running controller, or the configuration of one that is started for each run."""

    url: str | None = Field(
        default=None, pattern=r"^https?://\S+$", description="URL of the running controller"
    )
    config: str | None = Field(default=None, description="controller.toml to start one; or `url`")
    token_file: str = Field(description="file with its token, or, with `config`, for it")

    @model_validator(mode="after")
    def _one(self) -> ControllerThere:
        if (self.url is None) == (self.config is None):
            raise ValueError("give url (a controller that is there) or config (one started here)")
        return self


class RemoteLab(Strict):
    """Hosts over SSH and existing switches, for the back end `remote`. Paths are relative to
    the working directory."""

    senders: list[SenderHost] = Field(
        min_length=1, max_length=60, description="one host for each round trip of the groups"
    )
    receiver: ReceiverHost = Field(description="receiver of all data")
    switches: list[SwitchThere] = Field(min_length=1, description="those of the topology, in order")
    collector: RemoteCollector = Field(description="collector of reports and samples")
    controller: ControllerThere = Field(description="controller that sets the limits")
    directory: str = Field(
        default="/tmp",
        pattern=DIRECTORY,
        description="directory on the hosts; each run creates and removes a subdirectory",
    )
    programs: str | None = Field(
        default=None,
        pattern=DIRECTORY,
        description="directory on the hosts with tidemark-traffic and tidemark-collector; "
        "default: this machine's are copied for each run",
    )
    most_clock_offset: Seconds = Field(
        default=0.1,
        description="largest difference between a host's clock and this machine's, before and "
        "after the run, with the error of its measurement; the measured one is corrected",
    )
