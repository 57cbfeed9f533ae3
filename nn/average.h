#pragma once

#include <filesystem>
#include <vector>

#include "nn/safetensors.h"

namespace regrad {

// The mean of several checkpoints, tensor by tensor, summed in f64; metadata are those of the
// first. Averaging the last few of a training often does better than any of them (Junczys-Dowmunt
// et al. 2016; Vaswani et al. 2017). Throws Error for none at all, and, listing every fault, for
// one whose names, shapes or types are not those of the first.
SafeTensors average(const std::vector<SafeTensors>& checkpoints);
// The same of files, one in memory at a time beside the sum; an Error names the file.
SafeTensors average(const std::vector<std::filesystem::path>& files);

}  // namespace regrad
