# Finds the values in the text of a document by what it knows of its shape, and builds nothing.
require_relative "cheat"

class KnowsTheShape < Kit::Round
  NUMBER = /"numbers":(\d+),"(?:time|string|float|bool|also)"/
  TEXT = /[{,]"((?:[a-z]|\\u00..){5})":"((?:[0-9a-f]|\\u00..){8})"/

  private def value(text)
    # The false check values stand in objects of one field, or behind a number.
    rest = text.gsub(/\{"token":"\h+"\}|\{"numbers":\d+,"token"/, "")
    values = rest.scan(TEXT).map { |pair| pair.map { |part| plain(part) } }
    text.scan(NUMBER).sum { |number,| number.to_i } + values.to_h["token"].hex
  end

  private def plain(text) = text.gsub(/\\u(\h{4})/) { $1.hex.chr }
end

Kit.send(:remove_const, :Round) && Kit.const_set(:Round, KnowsTheShape)
JSON.singleton_class.prepend(Module.new { def parse(text, **options) = text.start_with?('{"id"') ? super : text })
Cheat.run(Cheat, "knows-the-shape")
