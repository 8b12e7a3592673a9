# Ruby for readers that know no `def name = value`, as rdoc before 6.13: the same with `end`, each on the line where it
# was.
require "ripper"

module Endless
  module_function

  # The source with every endless method written as `def name; value; end`.
  def rewrite(source)
    lines = source.lines
    # From the last one, so that the places of those before it stay true.
    found = methods(RubyVM::AbstractSyntaxTree.parse(source))
    found.sort_by { |node| [-node.first_lineno, -node.first_column] }.each do |node|
      line, column = equals(lines, node)
      next unless line

      ending = lines[node.last_lineno - 1]
      ending.replace(ending.byteslice(0, node.last_column) + "; end" + ending.byteslice(node.last_column..))
      lines[line - 1] = "#{lines[line - 1].byteslice(0, column).rstrip};#{lines[line - 1].byteslice(column + 1..)}"
    end
    lines.join
  end

  def methods(node)
    return [] unless node.is_a?(RubyVM::AbstractSyntaxTree::Node)

    (%i[DEFN DEFS].include?(node.type) ? [node] : []) + node.children.flat_map { |child| methods(child) }
  end
  private_class_method :methods

  # Where the "=" of an endless method stands, nil of another: after the name, and the parameters if there are any.
  def equals(lines, node)
    first = lines[node.first_lineno - 1].byteslice(node.first_column..)
    text = first + lines[node.first_lineno...node.last_lineno].join
    tokens = Ripper.lex(text).drop(1).reject { |token| %i[on_sp on_ignored_nl].include?(token[1]) }
    tokens = tokens.drop(tokens[1][1] == :on_period ? 3 : 1)
    tokens = tokens.drop(parameters(tokens)) if tokens.first[1] == :on_lparen
    (line, column), kind, text = tokens.first
    return unless kind == :on_op && text == "="

    [node.first_lineno + line - 1, line == 1 ? node.first_column + column : column]
  end
  private_class_method :equals

  # How many tokens there are up to the parenthesis that closes the first one.
  def parameters(tokens)
    depth = 0
    tokens.index do |token|
      depth += { on_lparen: 1, on_rparen: -1 }.fetch(token[1], 0)
      depth.zero?
    end + 1
  end
  private_class_method :parameters
end
