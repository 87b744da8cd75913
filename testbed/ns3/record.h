// SPDX-License-Identifier: GPL-2.0-only
// One line of a scenario: `NAME key=value ...`.
#pragma once

#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

namespace tidemark
{

// The fields of one line; each must be asked for.
class Record
{
  public:
    Record(const std::string& line, int number)
        : m_number(number)
    {
        std::istringstream in(line);
        in >> m_name;
        for (std::string field; in >> field;)
        {
            auto at = field.find('=');
            if (at == std::string::npos)
            {
                Fail("'" + field + "' is not key=value");
            }
            m_fields[field.substr(0, at)] = field.substr(at + 1);
        }
    }

    const std::string& Name() const { return m_name; }

    std::string Text(const std::string& key)
    {
        auto found = m_fields.find(key);
        if (found == m_fields.end())
        {
            Fail("has no " + key);
        }
        auto value = found->second;
        m_fields.erase(found);
        return value;
    }

    double Number(const std::string& key)
    {
        auto text = Text(key);
        size_t end = 0;
        double value = -1;
        try
        {
            value = std::stod(text, &end);
        }
        catch (const std::exception&)
        {
        }
        if (end != text.size() || value < 0 || value > 1e15)
        {
            Fail(key + "=" + text + " is no number from 0 on");
        }
        return value;
    }

    void End()
    {
        if (!m_fields.empty())
        {
            Fail("does not know " + m_fields.begin()->first);
        }
    }

    [[noreturn]] void Fail(const std::string& what) const
    {
        throw std::runtime_error("line " + std::to_string(m_number) + ": " + m_name + " " + what);
    }

  private:
    int m_number;
    std::string m_name;
    std::map<std::string, std::string> m_fields;
};

} // namespace tidemark
