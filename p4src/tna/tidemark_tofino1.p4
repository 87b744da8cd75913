// SPDX-License-Identifier: Apache-2.0
#include <core.p4>
#include <tna.p4>

#include "pipeline.p4"
