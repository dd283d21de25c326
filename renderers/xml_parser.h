// Calls as XML parameters: Claude's `<function_calls>` with `<invoke name="…">` and `<parameter
// name="…">`, with or without a prefix. Not XML: nothing is escaped, and a value ends only at a
// closing tag that something of the call follows.
#ifndef TOOLRACK_RENDERERS_XML_PARSER_H_
#define TOOLRACK_RENDERERS_XML_PARSER_H_

#include <memory>

#include "renderers/output.h"
#include "renderers/output_parser.h"

namespace toolrack {

std::unique_ptr<OutputParser> MakeXmlParser(const OfferedTools& offered, OutputSink& sink);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_XML_PARSER_H_
