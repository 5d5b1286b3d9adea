// A program's facts from its source, without a toolkit: a few declarations
// stand in for CUDA's headers.
#pragma once

#include "analysis/program/Assemble.h"

#include <gtest/gtest.h>

namespace restride {

/// Adds the unit \p File with this text. \p Headers (name and text) are found as <NAME> and "NAME".
void readText(ProgramFacts &Facts, const std::string &File, const std::string &Text,
              std::vector<std::pair<std::string, std::string>> Headers = {}, bool Alone = true);

Program programOf(const std::string &Text);

} // namespace restride
