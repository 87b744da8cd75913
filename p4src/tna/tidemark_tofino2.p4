// SPDX-License-Identifier: Apache-2.0
#include <core.p4>
#include <t2na.p4>

#include "pipeline.p4"
