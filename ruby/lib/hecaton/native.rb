# Loads the compiled engine: newer RubyGems install hecaton/hecaton_native.so, older ones hecaton.so.
begin
  require "hecaton/hecaton_native"
rescue LoadError => error
  raise unless error.path == "hecaton/hecaton_native"

  require "hecaton.so" # ".so", because hecaton.rb would be found first.
end
