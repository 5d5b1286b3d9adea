#pragma once
#include "reduce.h"
