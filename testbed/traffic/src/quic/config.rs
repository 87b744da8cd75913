// SPDX-License-Identifier: Apache-2.0
//! TLS, windows, datagram sizes and congestion control of a QUIC endpoint.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use quinn::VarInt;
use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use quinn::rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use quinn::rustls::version::TLS13;
use quinn::rustls::{self, DigitallySignedStruct, SignatureScheme};
use quinn::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TokioRuntime, TransportConfig};

/// Names of the congestion controls that a flow can use.
pub const CONGESTION_CONTROLS: [&str; 3] = ["cubic", "bbr", "newreno"];

/// Enough for 1 Gb/s over 100 ms: only the congestion window limits a flow.
const WINDOW_BYTES: u32 = 16 * 1024 * 1024;
/// Enough for a burst that the process reads late.
const SOCKET_BUFFER_BYTES: usize = 4 * 1024 * 1024;
const IPV4_UDP_HEADER_BYTES: u16 = 28;
/// Smallest datagram that every path must carry (RFC 9000 14).
const LEAST_DATAGRAM_BYTES: u16 = 1200;
/// For an MTU of 9000: loopback allows 64 KiB, which no real link does.
const MOST_DATAGRAM_BYTES: u16 = 9000 - IPV4_UDP_HEADER_BYTES;
/// Largest number of datagrams that quinn hands over at once.
const BATCH: u32 = 10;
/// Largest buffer that UDP segmentation splits into datagrams.
const MOST_BATCH_BYTES: u32 = 65_507;
pub(super) const SERVER_NAME: &str = "tidemark-traffic";
const PROTOCOL: &[u8] = b"tidemark-traffic";

/// Returns the kernel's source address on the path to `destination`, and the UDP payload of a full
/// packet there. Call it in the flow's namespace.
fn way(source: SocketAddr, destination: SocketAddr) -> Result<(IpAddr, u16), String> {
    let failed = |e: std::io::Error| format!("the path from {source} to {destination}: {e}");
    let probe = UdpSocket::bind((source.ip(), 0)).map_err(failed)?;
    probe.connect(destination).map_err(failed)?;
    let from = probe.local_addr().map_err(failed)?.ip();
    if destination.is_ipv6() {
        return Ok((from, LEAST_DATAGRAM_BYTES));
    }
    let mtu = getsockopt(&probe, sockopt::IpMtu).map_err(|e| format!("IP_MTU: {e}"))?;
    let room = u16::try_from(mtu).unwrap_or(u16::MAX);
    match room.saturating_sub(IPV4_UDP_HEADER_BYTES) {
        room if room < LEAST_DATAGRAM_BYTES => Err(format!(
            "QUIC needs an MTU of {} (RFC 9000 14), the path to {destination} has {mtu}",
            LEAST_DATAGRAM_BYTES + IPV4_UDP_HEADER_BYTES
        )),
        room => Ok((from, room.min(MOST_DATAGRAM_BYTES))),
    }
}

fn controller(name: &str) -> Option<Arc<dyn ControllerFactory + Send + Sync>> {
    Some(match name {
        "cubic" => Arc::new(CubicConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        "newreno" => Arc::new(NewRenoConfig::default()),
        _ => return None,
    })
}

/// Returns the sender's socket and the configuration of connections from it. Call it in the flow's
/// namespace.
pub(super) fn connecting(
    source: Option<SocketAddr>,
    destination: SocketAddr,
    congestion_control: &str,
) -> Result<(Endpoint, ClientConfig), String> {
    let any = match destination {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let mut source = source.unwrap_or(any);
    let (from, datagram) = way(source, destination)?;
    source.set_ip(from);
    let control = controller(congestion_control).ok_or_else(|| {
        let known = CONGESTION_CONTROLS.join(", ");
        format!("QUIC has no congestion control {congestion_control}; it has {known}")
    })?;
    let mut transport = transport();
    transport
        .congestion_controller_factory(control)
        // Full packets of the MTU's size from the start, without path MTU discovery.
        .initial_mtu(datagram)
        .mtu_discovery_config(None)
        .enable_segmentation_offload(u32::from(datagram) * BATCH <= MOST_BATCH_BYTES);
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .map_err(|e| e.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyServer(ring::default_provider())));
    let mut tls = tls.with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let tls = QuicClientConfig::try_from(tls).map_err(|e| e.to_string())?;
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(Arc::new(transport));
    let endpoint = endpoint(source, None)?;
    Ok((endpoint, config))
}

/// Returns a listening endpoint with a newly made certificate. Call it in its namespace.
pub(crate) fn listening(address: SocketAddr) -> Result<Endpoint, String> {
    let named = rcgen::generate_simple_self_signed([SERVER_NAME.to_owned()]);
    let made = named.map_err(|e| format!("certificate: {e}"))?;
    let key = PrivatePkcs8KeyDer::from(made.key_pair.serialize_der());
    let tls = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .map_err(|e| e.to_string())?;
    let mut tls = tls
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .map_err(|e| format!("certificate: {e}"))?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let tls = QuicServerConfig::try_from(tls).map_err(|e| e.to_string())?;
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    config.transport_config(Arc::new(transport()));
    endpoint(address, Some(config))
}

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .stream_receive_window(VarInt::from_u32(WINDOW_BYTES))
        .receive_window(VarInt::from_u32(WINDOW_BYTES))
        .send_window(u64::from(WINDOW_BYTES));
    transport
}

fn endpoint(address: SocketAddr, config: Option<ServerConfig>) -> Result<Endpoint, String> {
    let failed = |e: std::io::Error| format!("UDP socket at {address}: {e}");
    let socket = UdpSocket::bind(address).map_err(failed)?;
    // Without the privilege, the kernel's limit applies.
    if setsockopt(&socket, sockopt::RcvBufForce, &SOCKET_BUFFER_BYTES).is_err() {
        tracing::debug!(%address, "the receive buffer stays within net.core.rmem_max");
    }
    let mut own = EndpointConfig::default();
    own.max_udp_payload_size(MOST_DATAGRAM_BYTES)
        .map_err(|e| e.to_string())?;
    Endpoint::new(own, config, socket, Arc::new(TokioRuntime)).map_err(failed)
}

/// Accepts any certificate: the other side is this program, and nothing is secret.
#[derive(Debug)]
struct AnyServer(CryptoProvider);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC has TLS 1.3".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_congestion_control_and_no_other_is() {
        assert!(CONGESTION_CONTROLS.iter().all(|n| controller(n).is_some()));
        assert!(controller("reno").is_none());
    }

    #[test]
    fn a_way_without_an_mtu_of_its_own_has_that_of_jumbo_frames() {
        let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        assert_eq!(way(any, loopback).unwrap(), (loopback.ip(), 8972));
    }
}
