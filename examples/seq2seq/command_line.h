#pragma once

namespace regrad::seq2seq {

// The whole program. Throws UsageError for bad usage and Error for bad input.
void run(int argc, const char* const* argv);

}  // namespace regrad::seq2seq
