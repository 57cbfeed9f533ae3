#pragma once

#include <string>

#include "nn/module.h"
#include "nn/optimizer.h"
#include "nn/safetensors.h"

namespace regrad {

// Adds the module's parameters to the content, each as prefix + path; tied ones once, under the
// first of their paths. Shares storage, so it costs nothing.
void save_parameters(const Module& module, SafeTensors& content, const std::string& prefix = "");

// Assigns the tensors whose names begin with the prefix to the module's parameters. A tied
// parameter may stand under any of its paths. Strict: throws one Error that lists everything
// missing, unexpected, of wrong shape or type; then nothing has been assigned.
void load_parameters(const Module& module, const SafeTensors& content,
                     const std::string& prefix = "");

// The same for what the optimizer carries; the step counter goes into the metadata.
void save_optimizer(const Optimizer& optimizer, SafeTensors& content,
                    const std::string& prefix = "optimizer.");
void load_optimizer(Optimizer& optimizer, const SafeTensors& content,
                    const std::string& prefix = "optimizer.");

}  // namespace regrad
