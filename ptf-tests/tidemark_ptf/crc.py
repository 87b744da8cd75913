# SPDX-License-Identifier: Apache-2.0
"""CRC-16/ARC, the `crc16` of v1model."""


def crc16(data: bytes) -> int:
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0xA001 if value & 1 else 0)
    return value
