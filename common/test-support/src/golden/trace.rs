// SPDX-License-Identifier: Apache-2.0
//! tcp_probe samples as text, in the format of the kernel's `trace_pipe`.

use std::fmt;

/// Header line of a trace, as in the kernel's.
pub(crate) const HEADING: &str = "# tracer: nop\n";

/// One sample; its text is the line written by the simulator.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub cpu: i64,
    pub time_us: i64,
    pub source: String,
    pub destination: String,
    pub cookie: String,
    /// data_len, snd_nxt, snd_una, snd_cwnd, ssthresh, snd_wnd, srtt, rcv_wnd.
    pub numbers: [i64; 8],
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [
            length,
            snd_nxt,
            snd_una,
            cwnd,
            ssthresh,
            snd_wnd,
            srtt,
            rcv_wnd,
        ] = self.numbers;
        writeln!(
            f,
            "          <idle>-0       [{:03}] ..s2. {:5}.{:06}: tcp_probe: family=AF_INET src={} \
             dest={} mark=0x0 data_len={length} snd_nxt={snd_nxt:#x} snd_una={snd_una:#x} \
             snd_cwnd={cwnd} ssthresh={ssthresh} snd_wnd={snd_wnd} srtt={srtt} rcv_wnd={rcv_wnd} \
             sock_cookie={} skbaddr={:016} skaddr={:016}",
            self.cpu,
            self.time_us / 1_000_000,
            self.time_us % 1_000_000,
            self.source,
            self.destination,
            self.cookie,
            0,
            0
        )
    }
}
