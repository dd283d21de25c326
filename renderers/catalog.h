// Which renderers there are, and which suits which model. Data.
//
// Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_CATALOG_H_
#define TOOLRACK_RENDERERS_CATALOG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "renderers/dialect.h"
#include "toolrack/v1/renderer.pb.h"
#include "toolrack/v1/renderer_service.pb.h"

namespace toolrack {

// Which tools are shown when.
enum class Disclosure { kUpfront, kDeferred, kDispatcher, kRolling };
absl::string_view DisclosureName(Disclosure disclosure);

// One renderer: two parts that know nothing of each other.
struct RendererSpec {
  const Dialect* dialect = nullptr;
  Disclosure disclosure = Disclosure::kUpfront;
  std::string name() const;
};

// `DIALECT_DISCLOSURE`, a bare dialect (upfront), or an alias; REQUEST_INVALID naming near ones.
absl::StatusOr<RendererSpec> FindRenderer(absl::string_view name);
// The same family's renderer for `medium`; itself when it writes that already or none is asked for.
// REQUEST_INVALID when the family has no such form.
absl::StatusOr<RendererSpec> WithMedium(const RendererSpec& spec, v1::RenderMedium medium);

v1::Renderer DescribeRenderer(const RendererSpec& spec);
v1::RenderStrategy StrategyOf(const RendererSpec& spec);
// All, sorted by name.
std::vector<RendererSpec> AllRenderers();

// One line of the catalogue. `*` stands for any characters.
struct CatalogRule {
  std::string pattern;
  std::vector<std::string> renderers;  // best first
};

// Model ids (an owner before `/`, a GGUF file's ending and quantisation, dates and sizes do not
// matter) and provider schemes. The configured rules are looked at first, in either case of letters
// and against the whole id too; then the built-in ones. The first rule that matches wins; none: an
// answer that says so.
v1::ResolveRendererResponse ResolveRenderer(absl::string_view model,
                                            const std::vector<CatalogRule>& configured = {});

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_CATALOG_H_
