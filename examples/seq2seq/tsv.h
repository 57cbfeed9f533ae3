#pragma once

#include <cstddef>
#include <filesystem>
#include <istream>
#include <string>
#include <vector>

#include "examples/seq2seq/text.h"

namespace regrad::seq2seq {

struct TextPair {
  Sentence source, target;
  std::size_t line = 0;  // in its file, from 1; 0: from no file
};

// Each line is source<TAB>target; further columns are ignored, blank lines at the end too, and
// nothing else: duplicates stay. Throws Error, naming file, line and mend, for a missing tab, a
// source or target with nothing to be seen, and whatever LineReader rejects; also for a file that
// cannot be read or has no pairs.
std::vector<TextPair> read_tsv(const std::filesystem::path& path, Tokens source, Tokens target);

// One source a line, for translation: the first column where there are tabs, so that a TSV will do.
// An empty line is an empty sentence. Throws what LineReader throws; `name` is the stream's.
std::vector<Sentence> read_lines(std::istream& stream, Tokens kind,
                                 const std::string& name = "standard input");

// The first column of a line.
std::string first_column(const std::string& line);

// How many pairs of `dev` have a source that occurs in `train`: a leak, unless intended.
std::size_t count_shared_sources(const std::vector<TextPair>& train,
                                 const std::vector<TextPair>& dev);

}  // namespace regrad::seq2seq
