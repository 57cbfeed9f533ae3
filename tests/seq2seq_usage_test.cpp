#include "tests/seq2seq_process.h"

using namespace regrad;
using namespace regrad::testing;

TEST_CASE("standard input that cannot be read is not an empty one") {
  const Workshop shop;
  const std::string model = shop.trained_model();
  const std::filesystem::path streams = shop.folder / "streams";
  std::filesystem::create_directories(streams / "stdin");
  require_error(Process(streams, {"translate", "--model", model}).wait(), 1,
                "standard input: reading failed after line 0: Is a directory");
}
