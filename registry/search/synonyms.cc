#include "registry/search/synonyms.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "registry/search/tokens.h"

namespace toolrack {
namespace {

// One group a line; every word of a group may stand for every other one. Only what tools say: a
// group that is too wide costs more than it brings.
constexpr absl::string_view kGroups = R"(
get fetch read retrieve obtain load lookup
list enumerate index
search find query locate discover seek
create add make insert new generate
delete remove erase drop purge
update edit modify change alter
write save store put persist
send post submit publish deliver
run execute invoke launch trigger
stop cancel abort kill terminate
start begin open
navigate browse visit goto
calculate compute evaluate work
convert transform translate
parse extract scrape
compare diff contrast
analyze inspect examine assess
check verify validate test
download pull
upload attach
copy duplicate clone
move rename transfer
schedule plan book reserve appointment
estimate predict forecast project
recommend suggest propose
monitor track watch observe
summarize summary overview abstract
play listen stream
buy purchase order
sell trade
pay payment charge
cost price fee rate
file document
folder directory path
image picture photo
chart graph plot diagram
draw render sketch
table sheet spreadsheet excel
website site webpage web page url link
internet online web
email mail inbox
message chat dm text
meeting event calendar
task todo issue ticket
note memo
user person people member profile
customer client
company firm business organization
employee staff worker
job career vacancy
movie film
song music track audio
video clip
news article headline
book novel
restaurant dining food
recipe cook dish meal
hotel accommodation lodging stay
flight airline plane
trip travel journey itinerary
route direction path
location place address position
map geography
distance length
temperature weather climate
stock share equity
currency money exchange
crypto bitcoin coin
database db sql
command shell terminal bash
code program script source
repository repo git
picture screenshot capture
log history record
report statement
setting config option preference
error bug fault
size dimension
area surface
speed velocity
city town
country nation
language tongue
medicine drug medication
disease illness condition
doctor physician
patient case
student pupil learner
school university college
car vehicle automobile
house home property
)";

using Table = absl::flat_hash_map<std::string, std::vector<std::string>>;

Table MakeTable() {
  Table table;
  for (const absl::string_view line : absl::StrSplit(kGroups, '\n', absl::SkipEmpty())) {
    std::vector<std::string> stems;
    for (const absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
      stems.push_back(Stem(word));
    }
    for (const std::string& stem : stems) {
      std::vector<std::string>& others = table[stem];
      for (const std::string& other : stems) {
        if (other != stem && std::find(others.begin(), others.end(), other) == others.end()) {
          others.push_back(other);
        }
      }
    }
  }
  return table;
}

}  // namespace

const std::vector<std::string>& SynonymsOf(absl::string_view stem) {
  static const Table* table = new Table(MakeTable());
  static const auto* none = new std::vector<std::string>();
  const auto found = table->find(stem);
  return found == table->end() ? *none : found->second;
}

}  // namespace toolrack
