// SPDX-License-Identifier: GPL-2.0-only
// Proportional rate reduction, corrected.
#pragma once

#include "ns3/tcp-prr-recovery.h"

namespace tidemark
{

// With SACK, ns-3 3.44 counts the segment of a duplicate acknowledgement twice: in the delivered
// bytes, and once more because it is a duplicate. Senders then overshoot in recovery and cut
// twice; CUBIC behaves as if it multiplied its window by 0.49.
class PrrSackRecovery : public ns3::TcpPrrRecovery
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("tidemark::PrrSackRecovery")
                                     .SetParent<ns3::TcpPrrRecovery>()
                                     .AddConstructor<PrrSackRecovery>();
        return tid;
    }

    std::string GetName() const override { return "PrrSack"; }

    void DoRecovery(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t delivered, bool) override
    {
        ns3::TcpPrrRecovery::DoRecovery(tcb, delivered, false);
    }

    ns3::Ptr<ns3::TcpRecoveryOps> Fork() override { return ns3::CopyObject<PrrSackRecovery>(this); }
};

NS_OBJECT_ENSURE_REGISTERED(PrrSackRecovery);

} // namespace tidemark
