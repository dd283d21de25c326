#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "registry/builtin/memory.h"

namespace toolrack {
namespace {

void AddWords(absl::string_view text, std::set<std::string>& out) {
  std::string word;
  const auto flush = [&] {
    if (!word.empty()) out.insert(std::move(word));
    word.clear();
  };
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || absl::ascii_isalnum(byte)) {
      word.push_back(absl::ascii_tolower(byte));
    } else {
      flush();
    }
  }
  flush();
}

size_t WordsIn(const Note& note, const std::set<std::string>& words) {
  std::set<std::string> all;
  AddWords(note.key, all);
  AddWords(note.text, all);
  for (const std::string& tag : note.tags) AddWords(tag, all);
  return static_cast<size_t>(std::count_if(
      words.begin(), words.end(), [&all](const std::string& word) { return all.contains(word); }));
}

}  // namespace

Notes::Notes(const Clock* clock, size_t max_notes, size_t max_principals)
    : clock_(clock), max_notes_(max_notes), max_principals_(max_principals) {}

Notes::Book* Notes::FindBook(absl::string_view principal) {
  const auto at = books_.find(principal);
  if (at == books_.end()) return nullptr;
  at->second.last_used = ++uses_;
  return &at->second;
}

Notes::Book& Notes::MakeBook(absl::string_view principal) {
  if (Book* book = FindBook(principal)) return *book;
  if (books_.size() >= max_principals_) {
    books_.erase(std::min_element(books_.begin(), books_.end(), [](const auto& a, const auto& b) {
      return a.second.last_used < b.second.last_used;
    }));
  }
  Book& book = books_[std::string(principal)];
  book.last_used = ++uses_;
  return book;
}

Notes::Stored Notes::Store(absl::string_view principal, Note note) {
  absl::MutexLock lock(&mu_);
  Book& book = MakeBook(principal);
  const uint64_t number = ++book.last_number;
  Stored out;
  note.stored = clock_->WallNow();
  for (uint64_t n = number; note.key.empty(); ++n) {
    std::string key = absl::StrCat("note-", n);
    if (!book.by_key.contains(key)) note.key = std::move(key);
  }
  out.key = note.key;
  if (const auto old = book.by_key.find(note.key); old != book.by_key.end()) {
    book.notes.erase(old->second);
    out.replaced = true;
  } else if (book.notes.size() >= max_notes_) {
    const auto oldest = book.notes.begin();
    out.dropped = oldest->second.key;
    book.by_key.erase(oldest->second.key);
    book.notes.erase(oldest);
  }
  book.by_key[note.key] = number;
  book.notes.emplace(number, std::move(note));
  out.notes = book.notes.size();
  return out;
}

bool Notes::Forget(absl::string_view principal, absl::string_view key) {
  absl::MutexLock lock(&mu_);
  Book* book = FindBook(principal);
  if (book == nullptr) return false;
  const auto at = book->by_key.find(key);
  if (at == book->by_key.end()) return false;
  book->notes.erase(at->second);
  book->by_key.erase(at);
  return true;
}

std::optional<Note> Notes::Find(absl::string_view principal, absl::string_view key) {
  absl::MutexLock lock(&mu_);
  Book* book = FindBook(principal);
  if (book == nullptr) return std::nullopt;
  const auto at = book->by_key.find(key);
  if (at == book->by_key.end()) return std::nullopt;
  return book->notes.at(at->second);
}

Notes::Found Notes::Search(absl::string_view principal, absl::string_view words,
                           absl::string_view tag, size_t limit) {
  std::set<std::string> wanted;
  AddWords(words, wanted);
  Found out;
  absl::MutexLock lock(&mu_);
  Book* book = FindBook(principal);
  if (book == nullptr) return out;
  std::vector<std::pair<size_t, const Note*>> hits;
  for (auto at = book->notes.rbegin(); at != book->notes.rend(); ++at) {
    const Note& note = at->second;
    if (!tag.empty() && std::find(note.tags.begin(), note.tags.end(), tag) == note.tags.end()) {
      continue;
    }
    const size_t count = WordsIn(note, wanted);
    // Words without a letter or digit ask for nothing that is there.
    if (count > 0 || words.empty()) hits.emplace_back(count, &note);
  }
  std::stable_sort(hits.begin(), hits.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  out.total = hits.size();
  for (size_t i = 0; i < std::min(limit, hits.size()); ++i) out.notes.push_back(*hits[i].second);
  return out;
}

}  // namespace toolrack
