// SPDX-License-Identifier: GPL-2.0-only
// Writes the queue's packets as reports of a Tidemark switch (docs/reference/reports.md).
#pragma once

#include "bottleneck_queue.h"

#include <array>
#include <cstdio>
#include <stdexcept>
#include <vector>

namespace tidemark
{

// Writes a pcap of UDP reports, with one node per link. Occupancy and limit in packets.
class ReportWriter
{
  public:
    // Node of the first link; the next links count up.
    static constexpr uint32_t NODE = 10;
    static constexpr uint16_t INGRESS_PORT = 2;
    static constexpr uint16_t EGRESS_PORT = 1;

    ReportWriter(const std::string& path, size_t links)
        : m_file(std::fopen(path.c_str(), "wb")),
          m_sequences(links)
    {
        if (!m_file)
        {
            throw std::runtime_error(path + ": cannot be written");
        }
        // Nanoseconds, little-endian; Ethernet.
        const uint32_t head[] = {0xa1b23c4d, 2 | 4 << 16, 0, 0, 65535, 1};
        Write(head, sizeof(head));
    }

    ~ReportWriter() { std::fclose(m_file); }

    ReportWriter(const ReportWriter&) = delete;
    ReportWriter& operator=(const ReportWriter&) = delete;

    // Reports sent for one link.
    uint64_t Sent(size_t link) const { return m_sequences[link][0] + m_sequences[link][1]; }

    void Add(size_t link, const Seen& seen)
    {
        uint32_t node = NODE + static_cast<uint32_t>(link);
        bool left = seen.fate == Fate::Left;
        uint32_t metadataWords = left ? 8 : 7;
        m_bytes.clear();
        // Each kind has its own sequence numbers.
        uint32_t kind = left ? 0 : 1;
        Put32(2u << 28 | kind << 22 | (m_sequences[link][kind]++ & 0x3fffff));
        Put32(node);
        bool congested = seen.depth >= seen.actsAt;
        Put32(0x14u << 24 | (2 + metadataWords + 10) << 16 | metadataWords << 8 |
              (left ? 0 : 0x80) | (congested ? 0x40 : 0) | 0x20);
        Put32((left ? 0x5c00u : 0x5801u) << 16 | 0x544d);
        Put32(0xc0000000);
        Put32(static_cast<uint32_t>(INGRESS_PORT) << 16 | EGRESS_PORT);
        Put32(seen.depth);
        Put64(static_cast<uint64_t>(seen.arrivalNs));
        if (left)
        {
            Put64(static_cast<uint64_t>(seen.departureNs));
        }
        else
        {
            // Tail drop, or refused because it could not be marked.
            Put32((seen.fate == Fate::Dropped ? 71u : 73u) << 16);
        }
        Put32(seen.actsAt);
        // Every packet is reported.
        Put32(seen.marked ? 1u << 16 : 0);
        m_bytes.insert(m_bytes.end(), seen.headers, seen.headers + 40);
        Inner(m_bytes.size() - 40, seen.headerBytes);
        Frame(seen.departureNs, node);
    }

  private:
    // ns-3 omits the checksum of the IP header; the bytes after a UDP header are zeros.
    void Inner(size_t at, uint32_t present)
    {
        uint8_t* ip = m_bytes.data() + at;
        SetChecksum(ip);
        size_t keep = ip[9] == 17 ? 28 : 40;
        std::fill(ip + std::min<size_t>(keep, present), ip + 40, 0);
    }

    void Frame(int64_t ns, uint32_t node)
    {
        auto byte = [](size_t v) { return static_cast<uint8_t>(v); };
        size_t udp = 8 + m_bytes.size();
        size_t total = 20 + udp;
        uint8_t head[42] = {
            2, 0, 0, 0, 10, 2, 0, 0, 0, 0, 11, 0, 8, 0,
            // Don't fragment.
            0x45, 0, byte(total >> 8), byte(total), 0, 0, 0x40, 0, 64, 17, 0, 0,
            192, 0, 2, byte(node), 192, 0, 2, 1,
            // From 49152 to 32766; checksum 0: none.
            0xc0, 0, 0x7f, 0xfe, byte(udp >> 8), byte(udp), 0, 0,
        };
        SetChecksum(head + 14);
        uint32_t length = sizeof(head) + m_bytes.size();
        const uint32_t record[] = {static_cast<uint32_t>(ns / 1000000000),
                                   static_cast<uint32_t>(ns % 1000000000),
                                   length,
                                   length};
        Write(record, sizeof(record));
        Write(head, sizeof(head));
        Write(m_bytes.data(), m_bytes.size());
    }

    // Sets the checksum of an IP header.
    static void SetChecksum(uint8_t* ip)
    {
        ip[10] = ip[11] = 0;
        uint32_t sum = 0;
        for (size_t i = 0; i < 20; i += 2)
        {
            sum += ip[i] << 8 | ip[i + 1];
        }
        // The sum of ten words carries at most once more.
        sum = (sum & 0xffff) + (sum >> 16);
        sum += sum >> 16;
        ip[10] = ~sum >> 8 & 0xff;
        ip[11] = ~sum & 0xff;
    }

    void Put32(uint32_t v)
    {
        for (int shift = 24; shift >= 0; shift -= 8)
        {
            m_bytes.push_back(v >> shift & 0xff);
        }
    }

    void Put64(uint64_t v)
    {
        Put32(v >> 32);
        Put32(v & 0xffffffff);
    }

    void Write(const void* bytes, size_t n)
    {
        if (std::fwrite(bytes, 1, n, m_file) != n)
        {
            throw std::runtime_error("the reports cannot be written: is the disk full?");
        }
    }

    std::FILE* m_file;
    // For each link: forwarded, dropped.
    std::vector<std::array<uint32_t, 2>> m_sequences;
    std::vector<uint8_t> m_bytes;
};

} // namespace tidemark
