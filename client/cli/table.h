// A table for people.
#ifndef TOOLRACK_CLIENT_CLI_TABLE_H_
#define TOOLRACK_CLIENT_CLI_TABLE_H_

#include <ostream>
#include <string>
#include <vector>

namespace toolrack {

// Columns are as wide as their widest cell and two blanks apart; cells are made printable, one line
// each. The last column takes what is left of the line. Not thread-safe.
class Table {
 public:
  explicit Table(std::vector<std::string> heads);
  // As many cells as there are heads.
  void Add(const std::vector<std::string>& cells);
  // `columns`: width of the terminal, to which every line is cut; 0: uncut.
  void Print(std::ostream& out, size_t columns) const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the heads first
  std::vector<size_t> widths_;
};

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_CLI_TABLE_H_
