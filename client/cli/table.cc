#include "client/cli/table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "client/cli/text.h"

namespace toolrack {

Table::Table(std::vector<std::string> heads) : widths_(heads.size(), 0) { Add(heads); }

void Table::Add(const std::vector<std::string>& cells) {
  std::vector<std::string>& row = rows_.emplace_back();
  for (size_t i = 0; i < widths_.size(); ++i) {
    std::string cell = i < cells.size() ? Printable(cells[i], Lines::kJoin) : "";
    if (cell.empty()) cell = "-";
    widths_[i] = std::max(widths_[i], DisplayWidth(cell));
    row.push_back(std::move(cell));
  }
}

void Table::Print(std::ostream& out, size_t columns) const {
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths_[i] - DisplayWidth(row[i]) + 2, ' ');
    }
    if (columns > 0) line = CutToWidth(line, columns);
    absl::StripTrailingAsciiWhitespace(&line);
    out << line << '\n';
  }
}

}  // namespace toolrack
