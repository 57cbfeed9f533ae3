#pragma once

#include <string>
#include <string_view>

namespace regrad::seq2seq {

// & < > " ' as entities, and controls but tab and newline, which HTML forbids, as visible
// characters.
std::string escape_html(std::string_view text);

// A page around `body` that needs nothing else, neither network nor script; readable in light and
// dark. The title is escaped, the body is not.
std::string html_page(std::string_view title, std::string_view body);

}  // namespace regrad::seq2seq
