// CUDA for the CPU: the names that a CUDA program takes from the toolkit.
#pragma once
#include "emulation/atomics.h"
#include "emulation/device.h"
#include "emulation/errors.h"
#include "emulation/launch.h"
#include "emulation/math.h"
#include "emulation/memory.h"
#include "emulation/types.h"
#include "emulation/warp.h"
